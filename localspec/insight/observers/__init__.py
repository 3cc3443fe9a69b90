"""Observers of replies: metrics, the audit log, traces, and the watch for drift.

An observer receives the same events as the ``Recorder``, after it and in the same order. It never raises and never
blocks; it reports failures once, in ``news``.
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
    """A message of an observer for the user."""

    text: str
    """The message in sentences."""
    short: str = ""
    """The message in one line, if the text is longer."""

    @property
    def line(self) -> str:
        return self.short or self.text


class ReplyObserver(Protocol):
    """Observes one reply."""

    def receive(self, event: Event) -> None:
        """Receive the next event; ``Finished`` is the last."""
        ...

    def fail(self, error: LocalSpecError) -> None:
        """End the reply with an error."""
        ...


class Observer(Protocol):
    """Observes replies one after another."""

    def begin(self, about: ReplyMetadata, message: str = "") -> ReplyObserver:
        """Begin to observe a reply; ``message`` is its id in the store, if it is stored."""
        ...

    def news(self, wait_s: float = 0.0) -> Sequence[News]:
        """Return new messages, oldest first; waits at most so long for a pending evaluation."""
        ...


class ObserverGroup:
    """Several observers as one."""

    def __init__(self, observers: Sequence[Observer] = ()) -> None:
        self._observers = tuple(observers)

    def begin(self, about: ReplyMetadata, message: str = "") -> ReplyObserver:
        return _ReplyObservers([observer.begin(about, message) for observer in self._observers])

    def news(self, wait_s: float = 0.0) -> Sequence[News]:
        return [news for observer in self._observers for news in observer.news(wait_s)]


class _ReplyObservers:
    def __init__(self, replies: Sequence[ReplyObserver]) -> None:
        self._replies = replies

    def receive(self, event: Event) -> None:
        for reply in self._replies:
            reply.receive(event)

    def fail(self, error: LocalSpecError) -> None:
        for reply in self._replies:
            reply.fail(error)
