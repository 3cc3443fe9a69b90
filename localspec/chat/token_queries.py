"""What the engine says about tokens that are already written: asked for when it is idle, kept once known.

A plain object beside the session. What the reader looks at comes first; how likely all tokens of a reply were
is asked in pieces, so that a look or the next message never waits long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from localspec.chat.tokens.inspectable_reply import TokenSource
from localspec.chat.turn import Turn
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.messages import Cancel, Dropped, Failed, Inspect, Inspected, Request, Weigh, Weighed

PIECE_N = 68
"""Tokens weighed at a time: four full batches of the engine's."""

Looked = Inspected | Weighed | Dropped | Failed


@dataclass(slots=True)
class TokenQueries:
    """Wishes in, requests out; answers in, knowledge out, kept in the replies' traces."""

    send: Callable[[Request], None]
    new_id: Callable[[], int]
    pair: LoadOptions | None = None
    """The pair that is loaded."""
    failure: str = ""
    """Why what was asked last cannot be known, if it cannot."""
    _look: tuple[Turn, int] | None = None
    _weighing: list[Turn] = field(default_factory=list)
    _open: tuple[Inspect | Weigh, Turn, int] | None = None
    """The request under way, the reply it is about, and the first token it is about."""

    @property
    def busy(self) -> bool:
        """Whether the engine is at it."""
        return self._open is not None

    @property
    def wishes(self) -> bool:
        """Whether there is something to ask."""
        return self._look is not None or bool(self._weighing)

    def look(self, subject: Turn, index: int) -> None:
        """The reader looks at this token, and no longer at another."""
        self.failure, self._look = "", None
        if index not in subject.reply.inspections and self._source(subject, index):
            self._look = (subject, index)

    def weigh(self, subjects: Iterable[Turn]) -> None:
        """The reader sees these replies by probability, the most important first, and no others."""
        self._weighing = [subject for subject in subjects if self._weighable(subject)]

    def forget(self) -> None:
        """Nobody looks any more."""
        self._look, self._weighing = None, []

    def ask(self) -> None:
        """The engine is idle: send the next request, if there is any and none is under way."""
        if self._open is None and (request := self._next()) is not None:
            self.send(request)

    def withdraw(self) -> None:
        """The engine is needed for something else; what was wished for is asked again later."""
        if self._open is not None:
            self.send(Cancel())

    def receive(self, answer: Looked) -> Turn | None:
        """Take in what the engine said; returns the reply if that was an answer to a request of ours."""
        if self._open is None or self._open[0].request_id != answer.request_id:
            return None
        (_, subject, start), self._open = self._open, None
        match answer:
            case Inspected(_, inspection):
                subject.reply.inspections[start] = inspection
                if self._look == (subject, start):
                    self._look = None
            case Weighed(_, probs):
                subject.reply.learn(start, probs)
            case Failed(message=message, hint=hint):
                self.failure = f"{message} {hint}".strip()
                self.forget()
        return subject

    def _next(self) -> Inspect | Weigh | None:
        if self._look is not None and (request := self._inspect(*self._look)) is not None:
            return request
        self._look = None
        while self._weighing and not self._weighable(self._weighing[0]):
            del self._weighing[0]
        return self._weigh(self._weighing[0]) if self._weighing else None

    def _inspect(self, subject: Turn, index: int) -> Inspect | None:
        source = self._source(subject, index)
        if source is None:
            return None
        asked, ids = source.request, _ids(subject, source.start, index + 1)
        request = Inspect(self.new_id(), asked.prompt, asked.options, ids, index - source.start)
        self._open = (request, subject, index)
        return request

    def _weigh(self, subject: Turn) -> Weigh | None:
        reply = subject.reply
        start = len(reply.probs)
        source = self._source(subject, start)
        if source is None:
            return None
        until = next((later.start for later in reply.sources if later.start > start), len(reply.tokens))
        stop = min(start + PIECE_N, until)
        asked, ids = source.request, _ids(subject, source.start, stop)
        request = Weigh(self.new_id(), asked.prompt, asked.options, ids, start - source.start, stop - source.start)
        self._open = (request, subject, start)
        return request

    def _weighable(self, subject: Turn) -> bool:
        known_n = len(subject.reply.probs)
        unknown = subject.reply.done and known_n < len(subject.reply.tokens)
        return unknown and self._source(subject, known_n) is not None

    def _source(self, subject: Turn, index: int) -> TokenSource | None:
        """What was asked for a token, if the pair that is loaded was asked; otherwise ``failure`` says why not."""
        source = subject.reply.source(index)
        if source is None:
            self.failure = "This reply is of another time: what it was asked with is no longer known."
        elif source.pair != self.pair:
            self.failure = "Another pair wrote this reply; load that one to ask it."
            return None
        return source


def _ids(subject: Turn, start: int, stop: int) -> tuple[int, ...]:
    return tuple(token.id for token in subject.reply.tokens[start:stop])
