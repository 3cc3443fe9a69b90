"""Where the reader is: in the prompt, or at a turn, whose keys then count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.events import Key, Paste

from localspec.chat.commands.chat import BLOCK_AFTER, BLOCK_BEFORE, NEXT, PREVIOUS, WRITE
from localspec.chat.commands.command import Command, key_label
from localspec.chat.commands.places import known
from localspec.tui.controllers.editing import EditingController
from localspec.tui.controllers.reading import ReadingController
from localspec.tui.conversation.transcript import Transcript
from localspec.tui.conversation.turn_view import TurnView
from localspec.tui.keys.handling import handles
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.widgets.hints import Hints

_TWICE = "{key} once more: {title} this turn. Any other letter is written into the prompt."


@dataclass(frozen=True, slots=True)
class _PressedOnce:
    """A key that counts when it is pressed twice, and where it was pressed."""

    command: Command
    at: TurnView | None
    character: str
    """What it writes; empty for a key that writes nothing."""


class FocusController:
    """Moves the focus and says which keys count; which turn is chosen, the transcript knows."""

    def __init__(
        self,
        transcript: Transcript,
        prompt: Prompt,
        hints: Hints,
        reading: ReadingController,
        editing: EditingController,
    ) -> None:
        self._transcript = transcript
        self._prompt = prompt
        self._hints = hints
        self._reading = reading
        self._editing = editing
        self._pressed: _PressedOnce | None = None

    @property
    def at_turn(self) -> bool:
        """Whether the reader has chosen a turn."""
        return self._transcript.selected is not None

    @handles(PREVIOUS, -1)
    @handles(NEXT, 1)
    def step(self, step: int) -> None:
        """Go to the turn before or after; past the last, to the prompt."""
        self._pressed = None
        self._reading.leave_block()
        if self._transcript.select(step) is None:
            self.go_to_prompt()
        else:
            self.stay_at_turn()

    @handles(BLOCK_BEFORE, -1)
    @handles(BLOCK_AFTER, 1)
    async def go_to_block(self, step: int) -> None:
        """Go to the previous or next block of code; the keys of its turn act then."""
        if await self._reading.go_to_block(step):
            self.stay_at_turn()

    def stay_at_turn(self) -> None:
        """A turn has been chosen, to be read."""
        self.turn_chosen()
        self.read()

    def turn_chosen(self) -> None:
        """Its keys count from now on."""
        self._count(True)

    def go_to_prompt(self) -> None:
        """Choose no turn, and write."""
        self._reading.leave_block()
        self._transcript.unselect()
        self._hints.choose(False)
        self.write()

    def after_change(self) -> None:
        """Something was done to a turn: stay there if it is still chosen, its keys counting unless it is edited."""
        if not self.at_turn:
            self.go_to_prompt()
        writes = self._transcript.screen.focused is self._prompt.area
        self._count(self.at_turn and not writes and not self._editing.under_way)

    def keep_count(self) -> None:
        """Something may have become of the chosen turn: name the keys that change it now."""
        if self._hints.chosen:
            self._count(True)

    def leave_editing(self) -> bool:
        """Give editing up; whether there was any."""
        return self._editing.leave()

    def leave(self) -> bool:
        """One step back towards writing: from editing, or from a turn. Whether there was anything to leave."""
        if self.leave_editing():
            return True
        if self.at_turn:
            self.go_to_prompt()
            return True
        return False

    def read(self) -> None:
        """Leave the prompt; the keys of a turn that is chosen count then."""
        self._count(self.at_turn)
        self._transcript.screen.set_focus(None)

    @handles(WRITE)
    def write(self) -> None:
        """Go to the prompt; a turn that is chosen stays so, and its keys write."""
        self._pressed = None
        self._hints.choose(False)
        self._transcript.screen.set_focus(self._prompt.area)  # at once: a letter may be on its way

    def swallows(self, event: Key | Paste, say: Callable[[str], None]) -> bool:
        """Hear what is typed before it means anything; whether it is to mean nothing.

        Outside the prompt only a few letters are keys. The others begin a message, as a paste does, and so does a
        letter that would have to be pressed twice, once another one follows.
        """
        pressed, self._pressed = self._pressed, None
        screen = self._transcript.screen
        if screen.focused is not None:
            return False
        if isinstance(event, Paste):
            self.write()
            return False
        writes = event.is_printable and not event.key.startswith("alt+")
        bound = screen.active_bindings.get(event.key)
        command = known().get(bound.binding.id or "") if bound is not None else None
        if pressed is not None and command is pressed.command and self._transcript.selected is pressed.at:
            return False
        if writes and (pressed is not None or bound is None):
            self.write()
            self._prompt.insert(pressed.character if pressed is not None else "")
        elif command is not None and command.twice:
            self._pressed = _PressedOnce(command, self._transcript.selected, (event.character or "") if writes else "")
            say(_TWICE.format(key=key_label(event.key), title=command.title))
            return True
        return False

    def _count(self, chosen: bool) -> None:
        self._hints.choose(chosen, self._editing.unchanging if chosen else frozenset())
