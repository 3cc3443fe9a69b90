"""Those who follow replies while they are made: figures for monitoring, the audit log, the watch.

A witness is told what the ``Recorder`` is told, after it, and in the same order. It never raises and never makes
anybody wait: what it could not do it says in ``news``, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event
from localspec.store import ReplyMetadata


@dataclass(frozen=True, slots=True)
class News:
    """What a person should hear."""

    text: str
    """In sentences."""
    short: str = ""
    """The same in a line, where the text is longer than one."""

    @property
    def line(self) -> str:
        return self.short or self.text


class ReplyObserver(Protocol):
    """Follows one reply."""

    def receive(self, event: Event) -> None:
        """Take in the next event; ``Finished`` is the last."""
        ...

    def fail(self, error: LocalSpecError) -> None:
        """The reply broke off; nothing follows."""
        ...


class Observer(Protocol):
    """Follows one reply after another."""

    def begin(self, about: ReplyMetadata, message: str = "") -> ReplyObserver:
        """A reply begins; ``message`` is its id in the store, if it is stored."""
        ...

    def news(self, wait_s: float = 0.0) -> Sequence[News]:
        """What was not told yet, oldest first; waits at most so long for what is still being found out."""
        ...


class Everybody:
    """Several witnesses as one."""

    def __init__(self, observers: Sequence[Observer] = ()) -> None:
        self._observers = tuple(observers)

    def begin(self, about: ReplyMetadata, message: str = "") -> ReplyObserver:
        return _Each([observer.begin(about, message) for observer in self._observers])

    def news(self, wait_s: float = 0.0) -> Sequence[News]:
        return [news for observer in self._observers for news in observer.news(wait_s)]


class _Each:
    def __init__(self, replies: Sequence[ReplyObserver]) -> None:
        self._replies = replies

    def receive(self, event: Event) -> None:
        for reply in self._replies:
            reply.receive(event)

    def fail(self, error: LocalSpecError) -> None:
        for reply in self._replies:
            reply.fail(error)
