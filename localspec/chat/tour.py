"""The tour: a minute of trying what the app can do, one hint at a time. It begins only when asked for."""

from __future__ import annotations

from dataclasses import dataclass

from localspec.chat.commands.command import Command
from localspec.chat.commands.keymap import Keymap
from localspec.chat.commands.setup import PAIRS
from localspec.chat.commands.watching import GHOSTS, INSPECT, MARKS, RACE, VIEW
from localspec.chat.commands.writing import SEND


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to try."""

    command: Command
    """Ends the step when it is done."""
    hint: str
    """The rest of a sentence that begins with the key."""
    opens: bool = False
    """True if the step is done only once a screen is open."""
    question: str = ""
    """The question that is put into the prompt for this step."""
    tools: tuple[str, ...] = ()
    """Tools of LocalSpec's own that the model may call from here on; none of them needs approval."""


QUESTION = "Tell me a story about a fox"
"""The first question. The built-in draft guesses some words of the reply wrong, as steps show."""
STEPS: tuple[Step, ...] = (
    Step(SEND, "sends this question; the line below tells the speed.", question=QUESTION),
    Step(VIEW, "shows tokens; the draft guessed the underlined ones."),
    Step(GHOSTS, "keeps wrong guesses in sight, struck through."),
    Step(MARKS, "marks tokens in another way each time."),
    Step(INSPECT, "looks into a token; n goes to a wrong guess.", opens=True),
    Step(RACE, "answers twice, with guesses and without, to compare.", opens=True),
    Step(
        SEND,
        "asks for a count; the model calls a tool for it.",
        question='Count the words in "the quick brown fox".',
        tools=("count_words",),
    ),
    Step(PAIRS, "lists real pairs, and which fit this machine.", opens=True),
)
QUESTIONS = frozenset(step.question for step in STEPS)
"""The texts that the tour puts into the prompt, the empty one of steps without a question among them."""
END = "That was the tour. /help lists all keys and commands, /tour begins again."


class Tour:
    """The progress of the tour."""

    def __init__(self) -> None:
        self._at: int | None = None

    @property
    def step(self) -> Step | None:
        """The step to try now; None while there is no tour."""
        return STEPS[self._at] if self._at is not None else None

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools of this step and of those before it; none without a tour."""
        steps = STEPS[: self._at + 1] if self._at is not None else ()
        return tuple(tool for step in steps for tool in step.tools)

    @property
    def place(self) -> str:
        """The number of the step, for example "2/6"; empty while there is no tour."""
        return f"{self._at + 1}/{len(STEPS)}" if self._at is not None else ""

    @property
    def at_last(self) -> bool:
        return self._at == len(STEPS) - 1

    def go_on(self) -> str:
        """Begin, or go to the next step; returns a sentence at the end, else nothing."""
        self._at = 0 if self._at is None else self._at + 1
        if self._at < len(STEPS):
            return ""
        self._at = None
        return END

    def leave(self) -> bool:
        """End it; returns whether there was one."""
        under_way, self._at = self._at is not None, None
        return under_way

    def did(self, command: Command, *, opened: bool) -> str:
        """Go on if the step is about this command, which ``opened`` a screen or not; returns as ``go_on``."""
        step = self.step
        if step is None or step.command is not command or (step.opens and not opened):
            return ""
        return self.go_on()

    def hint(self, keymap: Keymap) -> tuple[str, str]:
        """The key of the step, or its slash command, and the hint; empty while there is no tour."""
        step = self.step
        if step is None:
            return "", ""
        return keymap.way(step.command), step.hint
