"""What waits to be answered, as it was written: so that it can go back to where it was written."""

from __future__ import annotations

from collections.abc import Iterable

from localspec.chat.compose.message import Written
from localspec.chat.session import Session
from localspec.chat.turn import Exchange


class Unanswered:
    """Messages from when they are sent until their reply begins."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._written: dict[Exchange, Written] = {}

    def ask(self, written: Written) -> Exchange:
        """Send a message."""
        exchange = self._session.ask(written.content)
        exchange.shown = written.shown
        self._written[exchange] = written
        return exchange

    def waits(self, exchange: Exchange) -> bool:
        """Whether another reply comes first."""
        return self._session.current is not None and exchange in self._session.waiting

    def begun(self, exchange: Exchange) -> None:
        """It is being answered."""
        self._written.pop(exchange, None)

    def withdraw(self) -> tuple[Exchange, Written] | None:
        """Take back the message that was sent last, if it still waits."""
        exchange = self._session.withdraw()
        return None if exchange is None else (exchange, self._written.pop(exchange, Written(exchange.prompt)))

    def taken_back(self, exchanges: Iterable[Exchange]) -> list[Written]:
        """As they were written; what was not written as a message of its own is left out."""
        return [self._written.pop(exchange) for exchange in exchanges if exchange in self._written]
