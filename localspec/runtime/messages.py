"""Messages to a model, the options of a reply, and the reply as its events make it grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event, Finished, FinishReason, PromptProgress, Round, Started, Token
from localspec.engine.events import ToolCall as ToolCall
from localspec.engine.settings import Sampling
from localspec.engine.tally import Tally
from localspec.engine.timings import Timings


class Role(StrEnum):
    """The author of a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    """The result of a call."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message, as a chat template sees it."""

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    """The calls that an assistant's message makes; ``content`` may hold their text, too."""
    call_id: str | None = None
    """The call that a tool's message answers."""
    name: str | None = None
    """The name of the tool, in a tool's message; empty where that says why a call could not be read."""


@dataclass(frozen=True, slots=True)
class TokenIds:
    """A prompt in tokens of the target's vocabulary, which is read as it stands."""

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Infill:
    """A text with a gap that the reply fills; only for a model that has the control tokens for it.

    Nothing that is written in it becomes a control token.
    """

    prefix: str
    """The text before the gap. Where room is short its end counts, and of ``suffix`` the beginning."""
    suffix: str
    files: tuple[tuple[str, str], ...] = ()
    """Name and text of other files that the model may look at; where room is short the first are left out."""


OFF, ON = "off", "on"
"""Two of the words for the reasoning of a reply; the others are efforts."""

Prompt = Sequence[Message] | str | TokenIds | Infill
"""Messages for the chat template, raw text in which control tokens count, tokens, or a text with a gap."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a reply may call."""

    name: str
    description: str
    parameters: str
    """The JSON Schema of its arguments, an object, as JSON text."""


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """The options of one reply."""

    sampling: Sampling = field(default_factory=Sampling)
    spec: tuple[str, ...] | None = None
    """Drafters by name; an empty tuple turns speculation off, None lets LocalSpec choose ("auto")."""
    depth: int | None = None
    """Proposals a round; None lets LocalSpec choose ("auto")."""
    seed: int | None = None
    """The seed of sampling; None takes a fresh one."""
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    """Tools that the model is told of; with none, nothing in a reply is a call."""
    must_call: bool = False
    """True if the answer must be calls of ``tools``."""
    one_call: bool = False
    """True if it may make no more than one."""
    ignore_end: bool = False
    """True rules out the tokens that end a reply: it goes on to its limit or a stop."""
    reasoning: str | None = None
    """The reasoning before the answer, "off", "on", "low", "medium" or "high", as far as the model's chat template has
    a switch for it; None leaves it to the template."""
    logprobs: int | None = None
    """Alternatives to tell of each token, beside its own log probability; None tells neither."""
    repeatable: bool = False
    """True if the text of ``seed`` is to be the same at every depth, with every drafter and beside any other reply, but
    for near-ties; deep drafts lose up to a tenth of their proposals by it."""


@dataclass(slots=True)
class Reply:
    """A reply, while it grows and after. Its figures come from the events of the engine."""

    tokens: list[Token] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    prompt: Started | None = None
    progress: PromptProgress | None = None
    """The progress of reading the prompt; None before and after."""
    image_since: float | None = None
    """The time (``time.monotonic``) at which the encoding of an image began; None while none is encoded."""
    finished: FinishReason | None = None
    error: LocalSpecError | None = None
    """The error that ended the reply, if one did; the text received so far stays."""
    final_timings: Timings | None = None
    calls: tuple[ToolCall, ...] = ()
    """Complete calls from verified text; none before the reply has finished with STOP."""
    call_error: str | None = None
    """A sentence for the model about a call that cannot be read; then there are no ``calls``."""
    held_n: int = 0
    """Characters at its end that are the text of calls, or may become that while it grows; they are not shown."""
    _run_at: int = field(default=0, repr=False)
    """Characters before the run of the engine that is under way."""

    @property
    def text(self) -> str:
        return "".join(token.text for token in self.tokens)

    @property
    def said_end(self) -> tuple[int, int]:
        """The number of whole tokens before the text that is held, and of characters of the next."""
        tokens_n, held_n = len(self.tokens), self.held_n
        while held_n > 0 and tokens_n:
            tokens_n -= 1
            held_n -= len(self.tokens[tokens_n].text)
        return tokens_n, -held_n

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
                self._run_at = len(self.text)
                self.prompt = event
                self.tally.cache_n = event.cache_n
                self.tally.prompt_n = event.prompt_n - event.cache_n
            case PromptProgress():
                self.progress = event
                self.image_since = time.monotonic() if event.image else None
            case Round():
                self.progress = None
                self.rounds.append(event)
                self.tokens.extend(event.tokens)
                self.held_n = event.held_n
                self.tally.add(event)
            case Finished():
                self.progress = None
                self.finished = event.reason
                self.final_timings = event.timings
                self.held_n = 0 if event.said_n is None else max(0, len(self.text) - self._run_at - event.said_n)
                if event.reason is FinishReason.STOP:
                    self.calls, self.call_error = event.calls, event.call_error

    def fail(self, error: LocalSpecError) -> None:
        """End the reply with an error; the text received so far stays."""
        self.progress = None
        self.error, self.held_n = error, 0


@dataclass(frozen=True, slots=True)
class Listener:
    """Receives the events of one of several replies."""

    event: Callable[[Event], None]
    failed: Callable[[Exception], None]
    """Called once in place of ``Finished`` if the reply could not be made."""
