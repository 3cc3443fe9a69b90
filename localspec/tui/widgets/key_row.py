"""Keys in a row with what they do; a click on one does it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from textual import events
from textual.content import Content
from textual.widgets import Static

from localspec.chat.commands.command import Command
from localspec.tui.keys.bindings import key_of
from localspec.tui.keys.handling import CommandTarget

_GAPS = ("   ", "  ")
_ARROWS: dict[tuple[str, ...], tuple[str, ...]] = {("Up", "Down"): ("↑", "↓")}

KeyHints: TypeAlias = dict[Command | tuple[Command, Command], str]
"""Words for commands in a row; two commands whose keys belong together are one entry."""


class Piece(NamedTuple):
    """A text of a row, and the command that a click on it runs."""

    text: str
    style: str = ""
    command: Command | None = None


@dataclass(frozen=True, slots=True)
class Hint:
    """Keys that belong together, each with its command, and what they do."""

    keys: Sequence[tuple[str, Command]]
    title: str

    @property
    def pieces(self) -> Iterator[Piece]:
        """A click on the title is one on the last key."""
        between = "" if all(len(key) == 1 for key, _ in self.keys) else "/"
        for n, (key, command) in enumerate(self.keys):
            if n and between:
                yield Piece(between, "$foreground")
            yield Piece(key, "$foreground", command)
        if self.title:
            yield Piece(f" {self.title}", command=self.keys[-1][1])


class KeyRow(Static, CommandTarget):
    """A widget with the hints of a screen, as many as fit."""

    DEFAULT_CSS = """
    KeyRow { width: 100%; height: 1; padding: 0 2; color: $quiet; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  (as Textual calls it)
        super().__init__("", id=id)
        self._hints: list[list[Hint]] = []
        self._before = ""
        self._lines: list[list[Piece]] = []

    def show(self, *rows: KeyHints, before: str = "") -> None:
        """Show these hints, each row on a line of its own, with ``before`` in front."""
        self._before = before
        self._hints = [[self._hint(commands, title) for commands, title in row.items()] for row in rows]
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    async def on_click(self, event: events.Click) -> None:
        column, line = event.x - self.gutter.left, event.y - self.gutter.top
        clicked = 0 <= line < len(self._lines) and self.text_selection is None
        for piece in self._lines[line] if clicked else ():
            if 0 <= column < len(piece.text) and piece.command is not None:
                event.stop()
                await self.run_command(piece.command)
                return
            column -= len(piece.text)

    def _draw(self) -> None:
        room = self.size.width - len(self._before)
        lines = [fitting(row, room) for row in self._hints]
        self.draw_lines([[Piece(self._before), *lines[0]], *lines[1:]] if self._before else lines)

    def draw_lines(self, lines: list[list[Piece]]) -> None:
        self._lines = lines
        drawn = (Content.assemble(*((piece.text, piece.style) for piece in line)) for line in lines)
        self.update(Content("\n").join(drawn), layout=len(lines) != self.size.height)

    def _hint(self, commands: Command | tuple[Command, Command], title: str) -> Hint:
        together = commands if isinstance(commands, tuple) else (commands,)
        keys = tuple(key_of(self, command) for command in together)
        labelled = zip(_ARROWS.get(keys, keys), together, strict=True)
        return Hint([(key, command) for key, command in labelled if key], title)


def titled(*commands: Command) -> KeyHints:
    """Hints of these commands with their own titles."""
    return {command: command.title for command in commands}


def fitting(hints: Iterable[Hint], width: int, room: int | None = None) -> list[Piece]:
    """The hints with a key on one row, drawn together where it is narrow; the middle goes first, the ends last.

    If there is less ``room`` for now than the width, those that stay do not move: the last ones go.
    """
    shown = [list(hint.pieces) for hint in hints if hint.keys]
    gap = next((gap for gap in _GAPS if _length(shown, gap) <= width), _GAPS[-1])
    while len(shown) > 2 and _length(shown, gap) > width:
        shown = [*shown[: len(shown) // 2], *shown[len(shown) // 2 + 1 :]]
    while room is not None and shown and _length(shown, gap) > room:
        shown = shown[:-1]
    return [piece for n, pieces in enumerate(shown) for piece in (*([Piece(gap)] if n else []), *pieces)]


def length(pieces: Iterable[Piece]) -> int:
    """The cells of these pieces."""
    return sum(len(piece.text) for piece in pieces)


def _length(hints: Sequence[Sequence[Piece]], gap: str) -> int:
    return sum(map(length, hints)) + len(gap) * (len(hints) - 1)
