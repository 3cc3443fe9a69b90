"""Where the reader is: in the prompt, or at a turn, whose keys then count."""

from __future__ import annotations

from localspec.tui.editing_desk import EditingDesk
from localspec.tui.reading_desk import ReadingDesk
from localspec.tui.widgets.hints import Hints
from localspec.tui.widgets.prompt import Prompt
from localspec.tui.widgets.transcript import Transcript


class Whereabouts:
    """Moves the focus and says which keys count; which turn is chosen, the transcript knows."""

    def __init__(
        self, transcript: Transcript, prompt: Prompt, hints: Hints, reading: ReadingDesk, editing: EditingDesk
    ) -> None:
        self._transcript = transcript
        self._prompt = prompt
        self._hints = hints
        self._reading = reading
        self._editing = editing

    @property
    def at_turn(self) -> bool:
        """Whether the reader has chosen a turn."""
        return self._transcript.selected is not None

    def step(self, step: int) -> None:
        """Go to the turn before or after; past the last, to the prompt."""
        self._reading.leave_block()
        if self._transcript.select(step) is None:
            self.go_to_prompt()
        else:
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

    def settle(self) -> None:
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

    def write(self) -> None:
        """Go to the prompt; a turn that is chosen stays so, and its keys write."""
        self._hints.choose(False)
        self._prompt.area.focus()

    def _count(self, chosen: bool) -> None:
        self._hints.choose(chosen, self._editing.idle if chosen else frozenset())
