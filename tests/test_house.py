"""The house: where things are, how they depend on each other, and how they are named, read from the syntax trees."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from localspec.chat.pairs.source import LocalPairs
from tests.syntax_tree import syntax_tree
from tests.tui.fakes import NoPairs

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "localspec"
LOOSE = {"__init__.py", "__main__.py", "py.typed"}

MOST_SHARED_NAMES = 6
MOST_METHODS = 45
MOST_CIRCUMSCRIBING = 0.02
MOST_WITHOUT_TEXTUAL = 0.30
_CIRCUMSCRIBING = re.compile(r"(?:What|Whether|Who|Where)\b")
_PRIVATE = re.compile(r"(?<![a-z])(?:desk|epitaph|farewell|mourn|shelf|witness(?:es)?)(?![a-z])", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of every module, by its dotted name."""
    return {_dotted(path): syntax_tree(path) for path in sorted(PACKAGE.rglob("*.py"))}


def _dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def packages() -> Iterator[tuple[str, ast.Module]]:
    """Every package below ``localspec`` with the tree of its ``__init__``."""
    for path in sorted(PACKAGE.rglob("__init__.py")):
        yield _dotted(path), trees()[_dotted(path)]


def imports_of(name: str) -> set[str]:
    """The modules of ours that a module imports anywhere in it: at its top, inside functions, for types alone."""
    found: set[str] = set()
    for node in ast.walk(trees()[name]):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = below & trees().keys()
            found |= modules
            if node.module and modules != below:
                found.add(node.module)
    return found & trees().keys()


def circles() -> set[frozenset[str]]:
    """Sets of modules that import each other, by Tarjan's algorithm for strongly connected components."""
    graph = {name: imports_of(name) for name in trees()}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: set[frozenset[str]] = set()

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            component = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(component) > 1 or name in graph[name]:
                found.add(frozenset(component))

    for name in graph:
        if name not in index:
            visit(name)
    return found


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    """Every class, those inside functions and other classes included, with its module."""
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                yield name, node


def docstrings() -> Iterator[tuple[str, str]]:
    """The docstring of every module, class and function that has one, with the module."""
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield name, text


def test_no_module_lies_loose() -> None:
    """A package is one idea; what lies beside them has no place."""
    entries = [path for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    assert {path.name for path in entries if path.is_file()} == LOOSE
    assert all((path / "__init__.py").exists() for path in entries if path.is_dir())


def test_every_package_says_in_one_sentence_what_it_is() -> None:
    """The first paragraph of its docstring, which the page on the architecture shows."""
    wrong = []
    for name, tree in packages():
        first = " ".join((ast.get_docstring(tree) or "").split("\n\n")[0].split())
        if len(_SENTENCE_END.findall(first)) != 1 or not first.endswith("."):
            wrong.append(f"{name}: {first}")
    assert not wrong, "\n".join(wrong)


def test_no_modules_import_each_other() -> None:
    """Neither at once, nor inside functions, nor for types: whoever reads one must not have to read all."""
    assert not circles()


def test_few_class_names_occur_more_than_once() -> None:
    """Counted over all public classes of the package, nested ones included: a name is to be found by searching."""
    names = Counter(node.name for _, node in classes() if not node.name.startswith("_"))
    shared = sorted(name for name, count in names.items() if count > 1)
    assert len(shared) <= MOST_SHARED_NAMES, shared


def test_no_class_is_a_hub() -> None:
    """Functions in the class's own body count, properties included."""
    large = {}
    for name, node in classes():
        methods_n = sum(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) for each in node.body)
        if methods_n > MOST_METHODS:
            large[f"{name}.{node.name}"] = methods_n
    assert not large


def test_docstrings_name_the_thing() -> None:
    """Few begin with "What", "Whether", "Who" or "Where" and circumscribe it instead."""
    texts = list(docstrings())
    around = [f"{name}: {text.splitlines()[0]}" for name, text in texts if _CIRCUMSCRIBING.match(text)]
    share = len(around) / len(texts)
    assert share < MOST_CIRCUMSCRIBING, f"{share:.1%} of {len(texts)}:\n" + "\n".join(around)


def test_no_private_word_comes_back() -> None:
    """Names of things that the field has another word for: an observer, a controller, a library, a notice."""
    documents = [*PACKAGE.rglob("*.py"), *ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    found = [path.name for path in documents if _PRIVATE.search(path.read_text(encoding="utf-8"))]
    assert not found


def test_the_screen_holds_what_needs_textual() -> None:
    """Everything else belongs below, where every front end may use it; counted in lines of modules."""
    lines = {True: 0, False: 0}
    for path in (PACKAGE / "tui").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        lines[bool(re.search(r"^\s*(?:from|import) textual\b", text, re.MULTILINE))] += len(text.splitlines())
    assert lines[False] / sum(lines.values()) <= MOST_WITHOUT_TEXTUAL, lines


def test_fake_pairs_ask_nothing_of_this_machine() -> None:
    """All of them derive from one that overrides every question, so that no test reads its disk or the Hub."""
    questions = {name for name in vars(LocalPairs) if not name.startswith("_")}
    assert not questions - vars(NoPairs).keys()


def test_every_package_is_in_a_contract() -> None:
    """The layers name each once, and import-linter refuses one that is left out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = [
        contract
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers" and contract["containers"] == ["localspec"]
    ]
    assert layers["exhaustive"]
    assert not layers.get("exhaustive_ignores")
    named = re.findall(r"\w+", " ".join(layers["layers"]))
    assert sorted(named) == sorted(
        ["__main__", *(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__")]
    )
