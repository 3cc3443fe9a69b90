"""Styles name what there is: a class that was renamed takes its styles along."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

from textual.dom import DOMNode

import localspec.tui

_SELECTORS = re.compile(r"([^{}]*)\{[^{}]*\}")
_TYPE = re.compile(r"(?<![\w.#:$-])[A-Z]\w*")


def classes(kind: type[DOMNode]) -> Iterator[type[DOMNode]]:
    for each in kind.__subclasses__():
        yield each
        yield from classes(each)


def test_every_type_in_styles_is_a_class() -> None:
    """In the default styles of our widgets and screens."""
    for module in walk_packages(localspec.tui.__path__, "localspec.tui."):
        import_module(module.name)
    every = set(classes(DOMNode))
    names = {each.__name__ for each in every}
    ours = [each for each in every if each.__module__.startswith("localspec.") and "DEFAULT_CSS" in vars(each)]
    assert len(ours) > 20
    for each in ours:
        named = {name for part in _SELECTORS.findall(vars(each)["DEFAULT_CSS"]) for name in _TYPE.findall(part)}
        assert named <= names, each
        assert named, each
