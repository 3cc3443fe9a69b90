"""Reading ahead: what will surely stand before the reply is read by the engine while the person still types.

That is the conversation above, and the beginning of the message: an attached file, a first paragraph. The engine reads
it in small pieces while it has nothing else to do, so that a reply, a count or a query never waits long behind one.
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
    _tools: tuple[Tool, ...] = ()
    _open: tuple[Message, ...] = ()
    """Those of which a piece is being read."""

    def want(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> None:
        """Read these from now on, the last of which may go on, for a reply with ``tools``; none to read nothing."""
        long = sum(len(message.content) for message in messages) >= WORTH_CHARS
        wanted = tuple(messages) if long else ()
        self._tools = tuple(tools)
        if self._open and self._wanted and not wanted:  # once: a later one would end what was sent since
            self.send(Cancel())
        self._wanted = wanted

    def ask(self) -> None:
        """Have the next piece read, if there is one. The engine is idle."""
        if self._wanted and not self._open:
            self._open = self._wanted
            self.send(ReadAhead(self._wanted, self._tools))

    def withdraw(self) -> None:
        """Give up at once: the engine is needed."""
        self.want(())

    def receive(self, answer: HasRead) -> None:
        """A piece was read, or none will be."""
        if not answer.left_n and self._wanted == self._open:
            self._wanted = ()
        self._open = ()
