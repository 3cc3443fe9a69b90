"""A conversation: what was said, what is being said, and what the model is to be asked.

Plain objects without a screen or an engine behind them. A front end asks (``Conversation.ask``),
feeds the engine's events into the ``Reply`` it got, and draws from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event, Finished, FinishReason, PromptProgress, Round, Started, Token
from localspec.engine.settings import Sampling
from localspec.engine.tally import Tally
from localspec.engine.timings import Timings

TOUR_DEPTH = 3
"""The depth of the guided tour, where speculation stays on for the show."""


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Message:
    """One message, as a chat template sees it."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """How one reply is to be made."""

    sampling: Sampling = field(default_factory=Sampling)
    spec: tuple[str, ...] | None = None
    """Drafters by name; an empty tuple turns speculation off, None lets LocalSpec choose ("auto")."""
    depth: int | None = None
    """Proposals a round; None lets LocalSpec choose ("auto")."""
    seed: int | None = None
    """None takes a fresh one."""
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()


@dataclass(slots=True)
class Reply:
    """One reply while it grows and after; the figures come from the engine's own events."""

    tokens: list[Token] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    prompt: Started | None = None
    progress: PromptProgress | None = None
    """How far the prompt has been read; None before and after."""
    finished: FinishReason | None = None
    error: LocalSpecError | None = None
    """Why the reply broke off, if it did; the text received so far stays."""
    final_timings: Timings | None = None

    @property
    def text(self) -> str:
        return "".join(token.text for token in self.tokens)

    @property
    def done(self) -> bool:
        return self.finished is not None or self.error is not None

    @property
    def timings(self) -> Timings:
        """The figures so far, or the final ones once the reply is finished."""
        return self.final_timings or self.tally.timings()

    def receive(self, event: Event) -> None:
        """Take in the next event of this reply."""
        match event:
            case Started():
                self.prompt = event
                self.tally.cache_n = event.cache_n
                self.tally.prompt_n = event.prompt_n - event.cache_n
            case PromptProgress():
                self.progress = event
            case Round():
                self.progress = None
                self.rounds.append(event)
                self.tokens.extend(event.tokens)
                self.tally.add(event)
            case Finished():
                self.progress = None
                self.finished = event.reason
                self.final_timings = event.timings

    def fail(self, error: LocalSpecError) -> None:
        """The reply broke off; keep what was received."""
        self.progress = None
        self.error = error


@dataclass(slots=True)
class Turn:
    """A question and its reply."""

    prompt: str
    reply: Reply


@dataclass(slots=True)
class Conversation:
    """The turns so far, under one system prompt."""

    system: str | None = None
    turns: list[Turn] = field(default_factory=list)

    def ask(self, prompt: str, *, plain_per_second: float | None = None) -> Turn:
        """Begin a turn; its reply is empty and grows as events are fed into it."""
        turn = Turn(prompt, Reply(tally=Tally(plain_per_second=plain_per_second)))
        self.turns.append(turn)
        return turn

    def messages(self) -> list[Message]:
        """What the model is to be asked: everything said, the last turn's reply left out if it is empty.

        Turns whose reply broke off before any text are passed over, except the last.
        """
        messages = [Message(Role.SYSTEM, self.system)] if self.system else []
        for turn in self.turns:
            last = turn is self.turns[-1]
            if not turn.reply.text and not last:
                continue
            messages.append(Message(Role.USER, turn.prompt))
            if turn.reply.text:
                messages.append(Message(Role.ASSISTANT, turn.reply.text))
        return messages

    def clear(self) -> None:
        """Forget all turns; the system prompt stays."""
        self.turns.clear()
