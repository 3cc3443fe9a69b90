"""Textual finds widgets and handlers by name: a name that a renamed class no longer has is found, not passed over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import TypeVar

from textual.message import Message
from textual.message_pump import MessagePump
from textual.widget import Widget

import localspec.tui

T = TypeVar("T")
_TYPE = re.compile(r"(?<![\w.#:$-])[A-Z]\w+")
_SELECTORS = re.compile(r"([^{}]*)\{")


def loaded(kind: type[T]) -> Iterator[type[T]]:
    """All classes of a kind, ours and those of Textual's that ours import."""
    for module in walk_packages(localspec.tui.__path__, "localspec.tui."):
        import_module(module.name)
    yield kind
    waiting = [kind]
    while waiting:
        below = waiting.pop().__subclasses__()
        waiting += below
        yield from below


def ours(kind: type[T]) -> list[type[T]]:
    return [each for each in loaded(kind) if each.__module__.startswith("localspec.")]


def test_style_sheets_name_widgets_that_exist() -> None:
    names = {each.__name__ for each in loaded(Widget)}
    for each in ours(MessagePump):
        for sheet in (each.__dict__.get("DEFAULT_CSS", ""), each.__dict__.get("CSS", "")):
            for selectors in _SELECTORS.findall(sheet):
                assert set(_TYPE.findall(selectors)) <= names, each


def test_handlers_name_messages_that_exist() -> None:
    handlers = {each.handler_name for each in loaded(Message) if each is not Message}
    for each in ours(MessagePump):
        named = {name for name in each.__dict__ if name.startswith("on_")}
        assert named <= handlers, each
