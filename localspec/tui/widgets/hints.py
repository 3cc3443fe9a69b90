"""The chat's row of keys that matter now, and at its end how many tokens the message being written has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.command import Command
from localspec.chat.commands.keymap import Keymap
from localspec.chat.commands.turns import AGAIN, VERSION_AFTER, VERSION_BEFORE
from localspec.chat.commands.watching import STOP
from localspec.tui.widgets.key_row import Hint, KeyRow, Piece, fitting, length

_WEIGHT_WIDTH = 17
"""Room for "~123,456 tokens", whatever the number, so that nothing moves while it changes."""


class Hints(KeyRow):
    """The keys of the prompt, or those of the chosen turn."""

    def __init__(self, run: Callable[[Command], Awaitable[None]]) -> None:
        """``run`` carries out the command whose hint is clicked."""
        super().__init__()
        self._run = run
        self._weight = ""
        self.chosen = False
        """True while the keys of a turn are shown."""
        self._stoppable = False
        self._without: frozenset[Command] = frozenset()
        self._keymap = Keymap({})

    def use(self, keymap: Keymap) -> None:
        """Show these keys."""
        self._keymap = keymap
        self._draw()

    def choose(self, chosen: bool, without: frozenset[Command] = frozenset()) -> None:
        """Show the keys of a turn if one is ``chosen``, but those of commands without effect there."""
        if (chosen, without) != (self.chosen, self._without):
            self.chosen, self._without = chosen, without
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

    async def run_command(self, command: Command, argument: str = "") -> None:
        await self._run(command)

    def _draw(self) -> None:
        hints = [
            Hint(self._keys(command), command.title)
            for command in CHAT.commands
            if command.hinted
            and command.in_turn is self.chosen
            and command not in self._without
            and (command is not STOP or self._stoppable)
        ]
        if self.chosen:
            again, leave = (
                Hint([(key, each)] if (key := self._keymap.label(each)) else [], title)
                for each, title in ((AGAIN, AGAIN.title), (STOP, "leave"))
            )
            hints = [again, *hints, leave]
        width = self.size.width
        if self._weight and width > _WEIGHT_WIDTH:
            shown = fitting(hints, width, width - _WEIGHT_WIDTH)
            self.draw_lines([[*shown, Piece(f"{self._weight:>{width - length(shown)}}")]])
        else:
            self.draw_lines([fitting(hints, width)])

    def _keys(self, command: Command) -> list[tuple[str, Command]]:
        """The keys of a hint: that of its command, and with that to the version before the one to the next."""
        name = self._keymap.pressed if self.chosen else self._keymap.label
        together = (VERSION_BEFORE, VERSION_AFTER) if command is VERSION_BEFORE else (command,)
        return [(key, each) for each in together if (key := name(each))]
