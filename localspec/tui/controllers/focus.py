"""The focus of the chat screen: in the prompt, or at a chosen turn, where the keys of a turn act."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.events import Key, Paste

from localspec.chat.commands.command import Command, key_label
from localspec.chat.commands.moving import WRITE
from localspec.chat.commands.places import known
from localspec.chat.commands.turns import BLOCK_AFTER, BLOCK_BEFORE, NEXT, PREVIOUS
from localspec.tui.controllers.editing import EditingController
from localspec.tui.controllers.reading import ReadingController
from localspec.tui.conversation.transcript import Transcript
from localspec.tui.conversation.turn_view import TurnView
from localspec.tui.keys.handling import handles
from localspec.tui.prompt.prompt import Prompt
from localspec.tui.widgets.hints import Hints

_ONCE_MORE = "{key} once more: {title}. Any other letter is written into the prompt."


@dataclass(frozen=True, slots=True)
class _PressedOnce:
    """A key that acts when it is pressed twice, and the turn where it was pressed."""

    command: Command
    at: TurnView | None
    character: str
    """The character that the key types; empty for a key that types none."""


class FocusController:
    """Moves the focus and shows which keys act. The chosen turn is kept by the transcript."""

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
        """True while a turn is chosen."""
        return self._transcript.selected is not None

    @handles(PREVIOUS, -1)
    @handles(NEXT, 1)
    def step(self, step: int) -> None:
        """Go to the previous or next turn; past the last, to the prompt."""
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
        """Leave the prompt for the turn that was chosen."""
        self.show_turn_keys()
        self.read()

    def show_turn_keys(self) -> None:
        self._show_keys(True)

    def go_to_prompt(self) -> None:
        """Choose no turn, and go to the prompt."""
        self._reading.leave_block()
        self._transcript.unselect()
        self._hints.choose(False)
        self.write()

    def after_change(self) -> None:
        """Stay at the turn that was changed, if it is still chosen; its keys act unless it is being edited.

        Else go to the prompt, but go on reading where letters act at once.
        """
        if not self.at_turn:
            if self._modal and self._transcript.screen.focused is None:
                self._reading.leave_block()
            else:
                self.go_to_prompt()
        writes = self._transcript.screen.focused is self._prompt.area
        self._show_keys(self.at_turn and not writes and not self._editing.under_way)

    def refresh_keys(self) -> None:
        """Show the keys of the chosen turn as its reply is now."""
        if self._hints.chosen:
            self._show_keys(True)

    def leave_editing(self) -> bool:
        """Stop editing; returns False if nothing was edited."""
        return self._editing.leave()

    def leave(self) -> bool:
        """Stop editing, or else leave the chosen turn; returns False if there was neither."""
        if self.leave_editing():
            return True
        if self.at_turn:
            self.go_to_prompt()
            return True
        return False

    def read(self) -> None:
        """Leave the prompt; the keys of a chosen turn act then."""
        self._show_keys(self.at_turn)
        self._transcript.screen.set_focus(None)

    @handles(WRITE)
    def write(self) -> None:
        """Go to the prompt. A chosen turn stays chosen, but its keys type."""
        self._pressed = None
        self._hints.choose(False)
        self._transcript.screen.set_focus(self._prompt.area)  # at once: a letter may be on its way

    def swallows(self, event: Key | Paste, say: Callable[[str], None]) -> bool:
        """Take in a key or a paste before anything else does; returns True if it has no further effect.

        Outside the prompt a paste and a letter without a command go into the prompt. A letter that is a key of the
        chosen turn may begin a message, too: it acts when it is pressed twice, and goes into the prompt when another
        letter follows.
        """
        pressed, self._pressed = self._pressed, None
        screen = self._transcript.screen
        if screen.focused is not None:
            return False
        if isinstance(event, Paste) or not screen.is_mounted:  # then the prompt is about to have the focus
            self.write()
            return False
        types = event.is_printable and not event.key.startswith("alt+")
        bound = screen.active_bindings.get(event.key)
        command = known().get(bound.binding.id or "") if bound is not None else None
        if pressed is not None and command is pressed.command and self._transcript.selected is pressed.at:
            say("")
            return False
        if types and (pressed is not None or bound is None):
            self.write()
            self._prompt.insert(pressed.character if pressed is not None else "")
        elif command is not None and self._acts_when_repeated(command, types):
            self._pressed = _PressedOnce(command, self._transcript.selected, (event.character or "") if types else "")
            say(_ONCE_MORE.format(key=key_label(event.key), title=command.title))
            return True
        return False

    def _acts_when_repeated(self, command: Command, types: bool) -> bool:
        """True for a key that must be pressed twice. Where a letter goes to the prompt, the others act at once."""
        if command.twice:
            return True
        return types and command.in_turn and not self._modal

    @property
    def _modal(self) -> bool:
        """True where a letter goes to the prompt, so that the others are keys."""
        bindings = self._transcript.screen.active_bindings.values()
        return any(each.binding.id == WRITE.id and len(each.binding.key) == 1 for each in bindings)

    def _show_keys(self, chosen: bool) -> None:
        self._hints.choose(chosen, self._editing.without_effect if chosen else frozenset())
