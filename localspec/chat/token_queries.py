"""Questions to the engine about tokens that are already written; sent while it is idle, answers are kept.

The token that the reader inspects comes first. The probabilities of all tokens of a reply are asked for in pieces, so
that an inspection or the next message never waits long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from localspec.chat.tokens.inspectable_reply import TokenSource
from localspec.chat.turn import Turn
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.messages import Cancel, Dropped, Failed, Inspect, Inspected, Request, Weigh, Weighed

PIECE_N = 68
"""Tokens in a request for probabilities: four full batches of the engine."""

QueryAnswer = Inspected | Weighed | Dropped | Failed


@dataclass(slots=True)
class TokenQueries:
    """Sends one request at a time, and puts the answers into the replies they are about."""

    send: Callable[[Request], None]
    new_id: Callable[[], int]
    pair: LoadOptions | None = None
    """The pair that is loaded."""
    failure: str = ""
    """A sentence, if the latest question cannot be answered."""
    _inspected: tuple[Turn, int] | None = None
    _weighing: list[Turn] = field(default_factory=list)
    _open: tuple[Inspect | Weigh, Turn, int] | None = None
    """The request under way, the turn it is about, and the index of its first token."""

    @property
    def busy(self) -> bool:
        return self._open is not None

    @property
    def waiting(self) -> bool:
        return self._inspected is not None or bool(self._weighing)

    def inspect(self, subject: Turn, index: int) -> None:
        """Ask for the inspection of one token, in place of another that was asked for."""
        self.failure, self._inspected = "", None
        if index not in subject.reply.inspections and self._source(subject, index):
            self._inspected = (subject, index)

    def weigh(self, subjects: Iterable[Turn]) -> None:
        """Ask for the probabilities of all tokens of these replies, the most important first, and of no others."""
        self._weighing = [subject for subject in subjects if self._weighable(subject)]

    def forget(self) -> None:
        """Ask for nothing more."""
        self._inspected, self._weighing = None, []

    def ask(self) -> None:
        """Send the next request, if there is one and none is under way. The engine is idle."""
        if self._open is None and (request := self._next()) is not None:
            self.send(request)

    def withdraw(self) -> None:
        """Cancel the request under way, since the engine is needed otherwise; it is sent again later."""
        if self._open is not None:
            self.send(Cancel())

    def receive(self, answer: QueryAnswer) -> Turn | None:
        """Take in an answer; returns the turn it is about, or None if it answers no request of ours."""
        if self._open is None or self._open[0].request_id != answer.request_id:
            return None
        (_, subject, start), self._open = self._open, None
        match answer:
            case Inspected(_, inspection):
                subject.reply.inspections[start] = inspection
                if self._inspected == (subject, start):
                    self._inspected = None
            case Weighed(_, probs):
                subject.reply.learn(start, probs)
            case Failed(message=message, hint=hint):
                self.failure = f"{message} {hint}".strip()
                self.forget()
        return subject

    def _next(self) -> Inspect | Weigh | None:
        if self._inspected is not None and (request := self._inspect(*self._inspected)) is not None:
            return request
        self._inspected = None
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
        """The request that a token answers, if it was to the loaded pair; otherwise None and a ``failure``."""
        source = subject.reply.source(index)
        if source is None:
            self.failure = "This reply was made earlier, and its request is no longer known."
        elif source.pair != self.pair:
            self.failure = "Another pair wrote this reply; load that one to ask it."
            return None
        return source


def _ids(subject: Turn, start: int, stop: int) -> tuple[int, ...]:
    return tuple(token.id for token in subject.reply.tokens[start:stop])
