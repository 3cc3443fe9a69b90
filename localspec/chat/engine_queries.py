"""Requests to the engine beside the replies, while it is idle: queries about tokens, races, titles, reading ahead."""

from __future__ import annotations

from collections.abc import Callable

from localspec.chat.comparison import Comparison
from localspec.chat.race import Runs
from localspec.chat.reading_ahead import ReadingAhead
from localspec.chat.titles import TitleWriter
from localspec.chat.token_queries import TokenQueries
from localspec.engine.events import Event
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import Failed, Request


class EngineQueries:
    """A race has the engine to itself; queries about tokens wait for it, and are sent again if they are cancelled."""

    def __init__(self, send: Callable[[Request], None], new_id: Callable[[], int]) -> None:
        self.token_queries = TokenQueries(send, new_id)
        """Queries about replies that are complete."""
        self.titles = TitleWriter(send, new_id)
        self.reading_ahead = ReadingAhead(send)
        self.race: Runs | None = None
        """The latest race or comparison, under way or over."""

    @property
    def racing(self) -> bool:
        return self.race is not None and self.race.running is not None

    def pending(self, *, idle: bool) -> bool:
        """True if an answer is due, or if there is a request to send to an engine that is idle."""
        under_way = self.racing or self.token_queries.busy or self.titles.busy
        return under_way or (idle and (self.token_queries.waiting or self.titles.waiting))

    def ask(self) -> None:
        """Send the next query, unless a race is under way. The engine is idle."""
        if not self.racing:
            self.token_queries.ask()
            # A piece that is given up would take a title along.
            if not (self.token_queries.busy or self.reading_ahead.under_way):
                self.titles.ask()
            if not (self.token_queries.busy or self.titles.busy):
                self.reading_ahead.ask()

    def withdraw(self) -> None:
        """Cancel what is under way, since the engine is needed otherwise; queries are sent again later."""
        self.token_queries.withdraw()
        self.titles.withdraw()
        self.reading_ahead.withdraw()

    def begin(self, race: Runs) -> None:
        """Have the runs of a race or a comparison made."""
        self.withdraw()
        self.race = race
        race.start()

    def loaded(self, info: PairInfo) -> None:
        if isinstance(self.race, Comparison):
            self.race.loaded(info)

    def load_failed(self, failure: Failed) -> bool:
        """Take in that a pair cannot be loaded; True if it was loaded for a comparison."""
        return isinstance(self.race, Comparison) and self.race.load_failed(f"{failure.message} {failure.hint}")

    def hear(self, request_id: int, event: Event) -> None:
        """Take in an event that is not of the conversation."""
        self.titles.receive(request_id, event)
        if self.race is not None:
            self.race.receive(request_id, event)

    def fail(self, failure: Failed) -> bool:
        """Take in a failure; True if it ends a race or a title."""
        if self.titles.fail(failure.request_id):
            return True
        return self.race is not None and self.race.fail(
            failure.request_id, f"{failure.message} {failure.hint}", died=failure.died
        )
