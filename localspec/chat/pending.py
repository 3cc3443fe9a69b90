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
        turn = self._session.ask(written.content)
        turn.shown = written.shown
        self._written[turn] = written
        return turn

    def waits(self, turn: Turn) -> bool:
        """Whether another reply comes first."""
        return self._session.current is not None and turn in self._session.waiting

    def begun(self, turn: Turn) -> None:
        """It is being answered."""
        self._written.pop(turn, None)

    def withdraw(self) -> tuple[Turn, WrittenMessage] | None:
        """Take back the message that was sent last, if it still waits."""
        turn = self._session.withdraw()
        return None if turn is None else (turn, self._written.pop(turn, WrittenMessage(turn.prompt)))

    def taken_back(self, turns: Iterable[Turn]) -> list[WrittenMessage]:
        """As they were written; what was not written as a message of its own is left out."""
        return [self._written.pop(turn) for turn in turns if turn in self._written]
