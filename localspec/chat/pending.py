"""What waits to be answered, as it was written: so that it can go back to where it was written."""

from __future__ import annotations

from collections.abc import Iterable

from localspec.chat.compose.message import WrittenMessage
from localspec.chat.session import ChatSession
from localspec.chat.turn import Turn


class PendingMessages:
    """Messages from when they are sent until their reply begins."""

    def __init__(self, session: ChatSession) -> None:
        self._session = session
        self._written: dict[Turn, WrittenMessage] = {}

    def ask(self, written: WrittenMessage) -> Turn:
        """Send a message."""
        exchange = self._session.ask(written.content)
        exchange.shown = written.shown
        self._written[exchange] = written
        return exchange

    def waits(self, exchange: Turn) -> bool:
        """Whether another reply comes first."""
        return self._session.current is not None and exchange in self._session.waiting

    def begun(self, exchange: Turn) -> None:
        """It is being answered."""
        self._written.pop(exchange, None)

    def withdraw(self) -> tuple[Turn, WrittenMessage] | None:
        """Take back the message that was sent last, if it still waits."""
        exchange = self._session.withdraw()
        return None if exchange is None else (exchange, self._written.pop(exchange, WrittenMessage(exchange.prompt)))

    def taken_back(self, exchanges: Iterable[Turn]) -> list[WrittenMessage]:
        """As they were written; what was not written as a message of its own is left out."""
        return [self._written.pop(exchange) for exchange in exchanges if exchange in self._written]
