"""Messages that wait for their reply, as they were written: to go back into the prompt if they are withdrawn."""

from __future__ import annotations

from collections.abc import Iterable

from localspec.chat.compose.message import WrittenMessage
from localspec.chat.session import ChatSession
from localspec.chat.turn import Turn


class PendingMessages:
    """The written form of every message from when it is sent until its reply begins."""

    def __init__(self, session: ChatSession) -> None:
        self._session = session
        self._written: dict[Turn, WrittenMessage] = {}

    def ask(self, written: WrittenMessage) -> Turn:
        turn = self._session.ask(written.content)
        turn.shown = written.shown
        self._written[turn] = written
        return turn

    def waits(self, turn: Turn) -> bool:
        """True while another reply comes first."""
        return self._session.current is not None and turn in self._session.waiting

    @property
    def waiting(self) -> list[WrittenMessage]:
        """The messages that wait, oldest first."""
        return [self._written[turn] for turn in self._session.waiting if turn in self._written]

    def begun(self, turn: Turn) -> None:
        self._written.pop(turn, None)

    def withdraw(self) -> tuple[Turn, WrittenMessage] | None:
        """Take back the latest message, if it still waits."""
        turn = self._session.withdraw()
        return None if turn is None else (turn, self._written.pop(turn, WrittenMessage(turn.prompt)))

    def taken_back(self, turns: Iterable[Turn]) -> list[WrittenMessage]:
        """The written form of turns that were withdrawn; those not written as a message are left out."""
        return [self._written.pop(turn) for turn in turns if turn in self._written]
