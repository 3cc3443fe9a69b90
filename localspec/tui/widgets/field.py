"""An input field: a filter, a title, a value."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.suggester import Suggester
from textual.widgets import Input

from localspec.base.visible import visible_line
from localspec.chat.compose.cleaning import cleaned
from localspec.chat.pairs.model_files import completed, typed_path
from localspec.config.kinds import typed

LONGEST_PASTE = 1000
"""Characters of a paste into a filter, which is matched anew with every key."""


class Field(Input, inherit_bindings=False):
    """Leaves Enter to the actions of the place it stands in, so that the key map decides on it.

    And leaves memory with that place: Textual's (8.2) has the screen tell it of text that is marked, and until some is
    the screen keeps it, and all that were opened meanwhile.
    """

    DEFAULT_CSS = """
    Field { width: 1fr; height: 1; border: none; padding: 0; }
    Field:focus { border: none; background-tint: $surface 0%; }
    Field > .input--placeholder, Field > .input--suggestion { color: $quiet; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        each for each in Input.BINDINGS if not isinstance(each, Binding) or each.key != "enter"
    ]

    _around: Screen[Any] | None = None

    @property
    def _value(self) -> Text:
        """As Textual's, which drops some control characters and so shows the cursor in the wrong place."""
        return Text(visible_line(self.value), no_wrap=True, overflow="ignore", end="")

    async def _on_key(self, event: events.Key) -> None:
        """Leave Alt with a letter, which terminals send as Escape and the letter, to the bindings around."""
        if event.is_printable and event.key.startswith("alt+"):
            event.prevent_default()
        else:
            await super()._on_key(event)

    def _on_paste(self, event: events.Paste) -> None:
        """As Textual's, which drops all lines but the first."""
        event.prevent_default()
        super()._on_paste(events.Paste(self.one_line(cleaned(event.text)[0].strip("\n"))))
        event.stop()

    def one_line(self, text: str) -> str:
        """A pasted text as the field takes it."""
        return text.replace("\n", " ")[:LONGEST_PASTE]

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Return True if the field takes a key as text."""
        return not key.startswith("alt+") and super().check_consume_key(key, character)

    def complete(self) -> bool:
        """Take the rest that is suggested; False if there is none."""
        if not self._suggestion:
            return False
        self.value = self._suggestion
        self.cursor_position = len(self.value)
        return True

    def on_mount(self) -> None:
        self._around = self.screen

    def on_unmount(self) -> None:
        if self._around is not None:
            self._around.text_selection_started_signal.unsubscribe(self)


class ValueField(Field):
    r"""A field for a value of the settings, in which ``\n`` is a line break."""

    def one_line(self, text: str) -> str:
        return typed(text) if "\n" in text else text


class PathSuggester(Suggester):
    """Suggests the rest of a path to a folder or a model while it is typed, and nothing for other words."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        return await asyncio.to_thread(completed, value) if typed_path(value) is not None else None
