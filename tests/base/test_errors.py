"""Errors: wherever one is raised, it says what happened and what to do next."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import localspec
from localspec.base.errors import ALL_ERRORS
from tests.syntax_tree import syntax_tree

NAMES = {kind.__name__ for kind in ALL_ERRORS}


def made(folder: Path) -> Iterator[tuple[str, ast.Call]]:
    """Every place in the package that makes an error of the tree, and the call."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(syntax_tree(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES:
                yield f"{path.relative_to(folder)}:{node.lineno}", node


def says_what_to_do(call: ast.Call) -> bool:
    """Whether there is a second sentence, and it is not empty; one that is worked out is taken at its word."""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    if any(isinstance(each, ast.Starred) for each in arguments):
        return True
    return len(arguments) > 1 and not (isinstance(arguments[1], ast.Constant) and not arguments[1].value)


def test_every_error_says_what_to_do_next() -> None:
    calls = list(made(Path(localspec.__file__).parent))
    assert len(calls) > 100, "the law looks where errors are made"
    assert [place for place, call in calls if not says_what_to_do(call)] == []


def test_the_law_finds_what_it_is_for(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text('raise StoreError("Lost.")\nraise InputError("Empty.", "")\n', encoding="utf-8")
    assert [says_what_to_do(call) for _, call in made(tmp_path)] == [False, False]
