"""The drafters: each is a file of this package, named as users name it (``_`` for ``-``), and there is no other list.

A drafter's file has, in this order:

- a docstring, whose first sentence describes the drafter in the documentation;
- ``MARK``, the name of a mark for its tokens on the screen (``tui.tokens.palette.DRAFTER_MARKS``); drafters without one
  share a mark;
- ``POINT_MASS = True`` if each of its proposals has one possible token;
- ``make(inputs: DrafterInputs) -> Drafter``, which raises DrafterUnavailableError if the pair lacks what it needs.

The first three are constants that stand before the first class or function, so that they can be read without an import:
the screen names and colours drafters, and does not load what they compute with.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from localspec.base.errors import DrafterUnavailableError, UsageError
from localspec.base.plugins import plugin_files

if TYPE_CHECKING:
    from localspec.engine.drafter import Drafter, DrafterInputs

_DEFINITION = re.compile(r"^(?:class|def|@)", re.MULTILINE)
_SENTENCE = re.compile(r"(.+?\.)(?:\s|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class DrafterDeclaration:
    """The declarations of a drafter's file."""

    about: str
    """A sentence."""
    mark: str | None
    point_mass: bool


@cache
def drafter_files() -> Mapping[str, Path]:
    """The files of all drafters, by name. Listed once: every reply on the screen asks for the names."""
    return plugin_files(__name__)


def drafter_names() -> tuple[str, ...]:
    """All drafters there are, as ``--spec`` takes them."""
    return tuple(drafter_files())


def drafter_declarations() -> Mapping[str, DrafterDeclaration]:
    """The declarations of all drafters, by name."""
    return {name: _declaration(path) for name, path in drafter_files().items()}


@cache
def _declaration(path: Path) -> DrafterDeclaration:
    tree = ast.parse(_DEFINITION.split(path.read_text(encoding="utf-8"), maxsplit=1)[0])
    constants = {
        target.id: statement.value.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    mark = constants.get("MARK")
    sentence = _SENTENCE.match(ast.get_docstring(tree) or "")
    return DrafterDeclaration(
        about=" ".join(sentence[1].split()) if sentence else "",
        mark=mark if isinstance(mark, str) else None,
        point_mass=constants.get("POINT_MASS") is True,
    )


def make_drafter(name: str, inputs: DrafterInputs) -> Drafter:
    """The drafter called ``name``. Raises UsageError if there is none, and what its file's ``make`` raises."""
    if name not in drafter_names():
        raise UsageError(f"There is no drafter {name!r}.", f"Known drafters: {', '.join(drafter_names())}.")
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    drafter: Drafter = module.make(inputs)
    return drafter


def available_drafters(inputs: DrafterInputs) -> dict[str, Drafter]:
    """Every drafter that can be made from ``inputs``, by name."""
    drafters: dict[str, Drafter] = {}
    for name in drafter_names():
        try:
            drafters[name] = make_drafter(name, inputs)
        except DrafterUnavailableError:
            continue
    return drafters
