"""The row of keys that matter now, and at its end how many tokens the message being written has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from textual import events
from textual.content import Content
from textual.widgets import Static

from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.command import Command
from localspec.chat.commands.keymap import Keymap
from localspec.chat.commands.turns import AGAIN
from localspec.chat.commands.watching import STOP

_GAPS = ("   ", "  ")
_WEIGHT_WIDTH = 17
"""Room for "~123,456 tokens", whatever the number, so that nothing moves while it changes."""


class Hints(Static):
    """One row; as many hints as fit."""

    DEFAULT_CSS = """
    Hints { height: 1; padding: 0 2; color: $quiet; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(self, run: Callable[[Command], Awaitable[None]]) -> None:
        """``run`` carries out the command whose hint is clicked."""
        super().__init__("")
        self._run = run
        self._commands: dict[str, Command] = {}
        """The commands by their hints; not all of these fit on the row."""
        self._weight = ""
        self._chosen = False
        self._stoppable = False
        self._without: frozenset[Command] = frozenset()
        self._keymap = Keymap({})

    def use(self, keymap: Keymap) -> None:
        """Show these keys."""
        self._keymap = keymap
        self._draw()

    @property
    def chosen(self) -> bool:
        """True while the keys of a turn are shown."""
        return self._chosen

    def choose(self, chosen: bool, without: frozenset[Command] = frozenset()) -> None:
        """Show the keys of a turn if one is ``chosen``, but those of commands that would change nothing there."""
        if (chosen, without) != (self._chosen, self._without):
            self._chosen, self._without = chosen, without
            self._draw()

    def offer_stop(self, stoppable: bool) -> None:
        """Show the key that stops a reply only while there is one to stop."""
        if stoppable != self._stoppable:
            self._stoppable = stoppable
            self._draw()

    def weigh(self, weight: str) -> None:
        """Say how much the message is, in a few words; empty while there is none."""
        if weight != self._weight:
            self._weight = weight
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    async def on_click(self, event: events.Click) -> None:
        row, column = str(self.render()), event.x - self.gutter.left
        for hint, command in self._commands.items():
            if (start := row.find(hint)) >= 0 and start <= column < start + len(hint):
                event.stop()
                await self._run(command)  # here: a message that the foot has sent would end there

    def _draw(self) -> None:
        hinted = [
            (self._keymap.pressed(command) if self._chosen else label, command.title, command)
            for command in CHAT.commands
            if command.hinted
            and command.in_turn is self._chosen
            and command not in self._without
            and (command is not STOP or self._stoppable)
            and (label := self._keymap.label(command))
        ]
        if self._chosen:
            again, leave = (self._keymap.label(each) for each in (AGAIN, STOP))
            hinted = [(again, AGAIN.title, AGAIN), *hinted, (leave, "leave", STOP)]
        self._commands = {f"{key} {title}": command for key, title, command in hinted}
        pairs = [(key, title) for key, title, _ in hinted]
        width = self.size.width
        if self._weight and width > _WEIGHT_WIDTH:
            hints = fitting(pairs, width, width - _WEIGHT_WIDTH)
            hints = Content.assemble(hints, f"{self._weight:>{width - hints.cell_length}}")
        else:
            hints = fitting(pairs, width)
        self.update(hints, layout=False)


def fitting(pairs: list[tuple[str, str]], width: int, room: int | None = None) -> Content:
    """The pairs with a key on one row, drawn together where it is narrow; the middle goes first, help and quit last.

    If there is less ``room`` for now than the width, those that stay do not move: the last ones go.
    """
    pairs = [(key, title) for key, title in pairs if key]
    gap = next((gap for gap in _GAPS if _length(pairs, gap) <= width), _GAPS[-1])
    while len(pairs) > 2 and _length(pairs, gap) > width:
        pairs = [*pairs[: len(pairs) // 2], *pairs[len(pairs) // 2 + 1 :]]
    while room is not None and pairs and _length(pairs, gap) > room:
        pairs = pairs[:-1]
    parts: list[str | tuple[str, str]] = []
    for key, title in pairs:
        parts.extend([gap if parts else "", (key, "$foreground"), f" {title}" if title else ""])
    return Content.assemble(*parts)


def _length(pairs: list[tuple[str, str]], gap: str) -> int:
    return sum(len(f"{key} {title}".strip()) for key, title in pairs) + len(gap) * (len(pairs) - 1)
