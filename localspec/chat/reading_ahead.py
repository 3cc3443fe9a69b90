"""Reading ahead: what will surely stand before the reply is read by the engine while the person still types.

That is the conversation above, and the beginning of the message: an attached file, a first paragraph. The engine reads
it in small pieces while it has nothing else to do, so that a reply, a count or a query never waits long behind one. A
piece is given up at once when another text is wanted, or when the person does something that needs the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localspec.runtime.messages import Message, Tool
from localspec.runtime.worker.messages import Cancel, HasRead, ReadAhead, Request

WORTH_CHARS = 400
"""Less is read in no time when it is needed."""


@dataclass(slots=True)
class ReadingAhead:
    """Sends one piece at a time. Text that only grows is read on from where it was."""

    send: Callable[[Request], None]
    _wanted: tuple[Message, ...] = ()
    _prompted: tuple[tuple[Tool, ...], str | None] = ((), None)
    """The tools and the reasoning of the reply to come."""
    _open: tuple[Message, ...] = ()
    """Those of which a piece is being read."""
    _given_up: bool = False
    """True if the piece under way was cancelled: once, as a later cancellation would end what was sent since."""
    _resting: bool = False

    def want(self, messages: Sequence[Message], tools: Sequence[Tool] = (), reasoning: str | None = None) -> None:
        """Read these from now on, the last of which may go on, for a reply with these options; none to read nothing."""
        long = sum(len(message.content) for message in messages) >= WORTH_CHARS
        wanted = tuple(messages) if long else ()
        prompted = (tuple(tools), reasoning)
        if not _goes_on(self._open, wanted) or prompted != self._prompted:
            self._give_up()
        self._wanted, self._prompted = wanted, prompted

    def ask(self) -> None:
        """Have the next piece read, if there is one. The engine is idle."""
        if self._wanted and not self._open and not self._resting:
            self._open, self._given_up = self._wanted, False
            self.send(ReadAhead(self._wanted, *self._prompted))

    def withdraw(self) -> None:
        """Give up at once: the engine is needed."""
        self.want(())

    @property
    def under_way(self) -> bool:
        """True while a piece is being read."""
        return bool(self._open)

    def rest(self) -> None:
        """Give up the piece under way, and read nothing until ``go_on``: the person needs the machine."""
        self._resting = True
        self._give_up()

    def go_on(self) -> None:
        """Read again, when asked to."""
        self._resting = False

    def receive(self, answer: HasRead) -> None:
        """A piece was read, or none will be."""
        if not answer.left_n and self._wanted == self._open and not self._given_up:
            self._wanted = ()
        self._open = ()

    def _give_up(self) -> None:
        if self._open and not self._given_up:
            self._given_up = True
            self.send(Cancel())


def _goes_on(read: Sequence[Message], wanted: Sequence[Message]) -> bool:
    """True if ``wanted`` begins with all that is being read."""
    if not read or not wanted:
        return not read
    *before, last = read
    same = list(wanted[: len(before)]) == before and len(wanted) == len(read)
    return same and wanted[-1].role is last.role and wanted[-1].content.startswith(last.content)
