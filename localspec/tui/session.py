"""One conversation with one engine: what was asked, what waits, what the engine is doing.

A plain object. Requests go out through ``Engine.send``; answers come in through ``receive``, and
``advance`` hands out what became of them as facts for whoever draws. Knows nothing of widgets or time
(the pacer has the clock).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from localspec.chat import Conversation, Reply
from localspec.engine.events import Event, Finished, FinishReason, PromptProgress, Proposal, Round, Started, Token
from localspec.errors import LocalSpecError, error_from_code
from localspec.launch import Launch
from localspec.load import PairInfo
from localspec.tui.pacing import Pacer
from localspec.worker.messages import (
    Answer,
    Cancel,
    Emitted,
    Failed,
    Generate,
    Load,
    Loaded,
    LoadProgress,
    Request,
)


class Engine(Protocol):
    """The part of the engine's client that a conversation needs."""

    def send(self, request: Request) -> None: ...


class Phase(StrEnum):
    """What the engine is doing, as far as we were told."""

    LOADING = "loading"
    IDLE = "idle"
    READING = "reading the prompt"
    WRITING = "writing"
    BROKEN = "broken"
    """Loading failed, or the process died; the next message tries again."""


@dataclass(slots=True, eq=False)
class Exchange:
    """A message and what became of it; ``reply`` is empty while it waits its turn."""

    prompt: str
    reply: Reply = field(default_factory=Reply)
    begun: bool = False


@dataclass(frozen=True, slots=True)
class Began:
    """A message that waited is being answered."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Wrote:
    """The reply grew."""

    exchange: Exchange
    tokens: tuple[Token, ...]
    rejected: tuple[Proposal, ...]
    """What the last round threw away."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The reply is complete, stopped or broken off: see its ``finished`` and ``error``."""

    exchange: Exchange


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """There is no pair to talk to; messages are kept."""

    error: LocalSpecError


@dataclass(frozen=True, slots=True)
class PairReady:
    """The pair is loaded."""

    info: PairInfo


Change = Began | Wrote | Ended | LoadFailed | PairReady


class Session:
    """Messages in, requests out; answers in, changes out."""

    def __init__(self, launch: Launch, engine: Engine, pacer: Pacer) -> None:
        self.conversation = Conversation(launch.system)
        self.pacer = pacer
        self.phase = Phase.LOADING
        self.info: PairInfo | None = None
        self.load_progress = LoadProgress("starting the engine", 0.0)
        self.waiting: deque[Exchange] = deque()
        """Messages not yet answered, oldest first."""
        self.current: Exchange | None = None
        """The exchange being answered."""
        self.last: Exchange | None = None
        """The exchange answered last."""
        self._launch = launch
        self._engine = engine
        self._request_id = 0
        self._changes: list[Change] = []

    @property
    def busy(self) -> bool:
        """Whether answers are expected or changes are still to be shown."""
        return self.phase is Phase.LOADING or self.current is not None or bool(self._changes)

    @property
    def why_no_speculation(self) -> str | None:
        """In a few words; None while speculation is on."""
        if self._launch.reply.spec == ():
            return "turned off with --spec off"
        if self._launch.reply.depth == 0:
            return "turned off with --depth 0"
        if self._launch.load.draft is None and self._launch.reply.spec is None:
            return "no draft model"
        return None

    def ask(self, prompt: str) -> Exchange:
        """Queue a message; it is sent as soon as the pair is loaded and the replies before it are done."""
        exchange = Exchange(prompt)
        self.waiting.append(exchange)
        if self.phase is Phase.BROKEN:
            self._retry()
        self._send_next()
        return exchange

    def stop(self) -> list[Exchange]:
        """End the reply under way, its text stays; gives back the messages that waited behind it."""
        withdrawn = list(self.waiting)
        self.waiting.clear()
        if self.current is not None:
            self._engine.send(Cancel())
            if self.pacer.limited or self.pacer.waiting:
                self._cut_short(self.current)
        return withdrawn

    def begin_anew(self) -> None:
        """Forget the conversation; the pair stays loaded."""
        self.stop()
        if self.current is not None:
            self._cut_short(self.current)
        self._changes.clear()
        self.last = None
        self.conversation.clear()

    def receive(self, answer: Answer) -> None:
        """Take in what the engine said."""
        match answer:
            case LoadProgress():
                self.load_progress = answer
                if self.current is None:
                    self.phase = Phase.LOADING
            case Loaded(info):
                self.info = info
                self._changes.append(PairReady(info))
                if self.current is None:
                    self.phase = Phase.IDLE
                    self._send_next()
            case Emitted(request_id, event):
                if self.current is not None and request_id == self._request_id:
                    self.pacer.push(event)
            case Failed():
                self._fail(answer)

    def advance(self) -> list[Change]:
        """Feed what is due into the reply, and hand out everything that changed since the last call."""
        self._feed(self.pacer.due())
        changes, self._changes = self._changes, []
        return changes

    def _feed(self, events: list[Event]) -> None:
        """Give events to the current reply; what they wrote becomes one change."""
        tokens: list[Token] = []
        rejected: tuple[Proposal, ...] = ()
        for event in events:
            if isinstance(event, Round):
                tokens.extend(event.tokens)
                rejected = event.rejected
            elif tokens and isinstance(event, Finished):
                self._wrote(tokens, ())
                tokens = []
            self._take(event)
        if tokens:
            self._wrote(tokens, rejected)

    def _wrote(self, tokens: list[Token], rejected: tuple[Proposal, ...]) -> None:
        if self.current is not None:
            self._changes.append(Wrote(self.current, tuple(tokens), rejected))

    def _take(self, event: Event) -> None:
        """One event of the current reply."""
        if self.current is None:
            return
        self.current.reply.receive(event)
        match event:
            case Started() | PromptProgress():
                self.phase = Phase.READING
            case Round():
                self.phase = Phase.WRITING
            case Finished():
                self._end(Phase.IDLE)

    def _end(self, phase: Phase) -> None:
        """The current exchange is over."""
        assert self.current is not None
        self._changes.append(Ended(self.current))
        self.last, self.current = self.current, None
        self.phase = phase
        self.pacer.drop()
        self._send_next()

    def _cut_short(self, exchange: Exchange) -> None:
        """End the reply where the reader saw it end, whatever the engine has made since."""
        reply = exchange.reply
        reply.receive(Finished(FinishReason.CANCELLED, reply.text, reply.tally.timings()))
        self._request_id += 1
        self._end(Phase.IDLE)

    def _send_next(self) -> None:
        """Send the oldest message, if the engine is free for it."""
        if self.current is not None or not self.waiting or self.phase is not Phase.IDLE:
            return
        exchange = self.waiting.popleft()
        plain = self.info.plain_per_second if self.info else None
        exchange.reply = self.conversation.ask(exchange.prompt, plain_per_second=plain).reply
        exchange.begun = True
        self.current = exchange
        self.phase = Phase.READING
        self._request_id += 1
        messages = tuple(self.conversation.messages())
        self._engine.send(Generate(self._request_id, messages, self._launch.reply))
        self._changes.append(Began(exchange))

    def _retry(self) -> None:
        """Load the pair again; answers to what went before no longer matter."""
        self.phase = Phase.LOADING
        self.load_progress = LoadProgress("starting the engine again", 0.0)
        self._engine.send(Load(self._launch.load))

    def _fail(self, failure: Failed) -> None:
        error = error_from_code(failure.exit_code, failure.message, failure.hint)
        concerns_load = failure.request_id is None
        if self.current is not None and (failure.died or failure.request_id == self._request_id):
            self._break_off(error, died=failure.died)
        elif concerns_load and (failure.died or self.phase is Phase.LOADING):
            self._break(error)

    def _break_off(self, error: LocalSpecError, *, died: bool) -> None:
        """The current reply ends here; what the engine had said before counts."""
        exchange = self.current
        assert exchange is not None
        self._feed(self.pacer.take_all())
        if self.current is exchange:
            exchange.reply.fail(error)
            self._end(Phase.BROKEN if died else Phase.IDLE)
        elif died and self.current is None:
            self._break(error)

    def _break(self, error: LocalSpecError) -> None:
        """There is no engine, or nothing loaded; the next message tries again."""
        self.phase = Phase.BROKEN
        self._changes.append(LoadFailed(error))
