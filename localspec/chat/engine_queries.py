"""What the engine is asked beside the conversation, while it has nothing else to do: looks into replies, and races.

A plain object beside the session, which says when the engine is free.
"""

from __future__ import annotations

from collections.abc import Callable

from localspec.chat.race import Race
from localspec.chat.token_queries import Looked, TokenQueries
from localspec.chat.turn import Turn
from localspec.engine.events import Event
from localspec.runtime.messages import Message, ReplyOptions
from localspec.runtime.worker.messages import Failed, Request


class EngineQueries:
    """A race keeps the engine to itself; looks wait for it, and are asked again when they are cut short."""

    def __init__(self, send: Callable[[Request], None], new_id: Callable[[], int]) -> None:
        self.token_queries = TokenQueries(send, new_id)
        """What is asked about replies that are complete."""
        self.race: Race | None = None
        """The latest, under way or over."""
        self._send = send
        self._new_id = new_id

    @property
    def racing(self) -> bool:
        return self.race is not None and self.race.running is not None

    def wanted(self, *, idle: bool) -> bool:
        """Whether answers are expected, or are to be asked for, now that the engine is idle or is not."""
        return self.racing or self.token_queries.busy or (idle and self.token_queries.wishes)

    def ask(self) -> None:
        """The engine is idle: go on with what is wished for."""
        if not self.racing:
            self.token_queries.ask()

    def begin_race(self, prompt: tuple[Message, ...] | str, options: ReplyOptions, seed: int) -> Race:
        """Have a message answered twice."""
        self.token_queries.withdraw()
        self.race = Race(self._send, self._new_id, prompt, options, seed)
        self.race.start()
        return self.race

    def hear(self, request_id: int, event: Event) -> None:
        """An event that is not the conversation's."""
        if self.race is not None:
            self.race.receive(request_id, event)

    def learn(self, answer: Looked) -> Turn | None:
        """Take in what the engine knows; returns the reply that it is about, if that was asked here."""
        return self.token_queries.receive(answer)

    def fail(self, failure: Failed) -> bool:
        """The engine could not do something; returns whether that was a race."""
        return self.race is not None and self.race.fail(failure.request_id, f"{failure.message} {failure.hint}")
