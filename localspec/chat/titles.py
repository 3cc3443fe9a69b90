"""Titles by the model: a short request of ours after a reply, for which a person never waits.

The engine writes one while it is idle and ends it as soon as it is needed otherwise. The words are the model's, and so
untrusted: a grammar holds them to one line, and ``title_from`` makes them printable and cuts them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from localspec.engine.events import Event, Finished, FinishReason, Round
from localspec.engine.settings import Sampling
from localspec.runtime.messages import OFF, Message, ReplyOptions, Role
from localspec.runtime.worker.messages import Cancel, Generate, Request
from localspec.store import StoredConversation
from localspec.store.titles import title_from

REQUEST = (
    "Give our conversation a title of two to six words, in its own language. Write the title and nothing else, "
    "without quotation marks."
)
GRAMMAR = r"""root ::= [^ \n\r"#*<>`_-] [^\n\r"*<>`]{1,79}"""
"""One line that does not begin as a thought, a heading or a list."""
_OPTIONS = ReplyOptions(Sampling(temperature=0.0, grammar=GRAMMAR), spec=(), depth=0, max_tokens=32, reasoning=OFF)
"""Without drafters: what they hold of the conversation stays for the next reply."""


@dataclass(slots=True)
class _Asked:
    request_id: int
    conversation: StoredConversation
    pieces: list[str] = field(default_factory=list)


@dataclass(slots=True)
class TitleWriter:
    """Has at most one title written at a time."""

    send: Callable[[Request], None]
    new_id: Callable[[], int]
    _wanted: StoredConversation | None = None
    _asked: _Asked | None = None

    @property
    def busy(self) -> bool:
        return self._asked is not None

    @property
    def waiting(self) -> bool:
        return self._wanted is not None

    def want(self, conversation: StoredConversation) -> None:
        """Have a title written, unless the conversation was given one."""
        if not conversation.heading.title_given:
            self._wanted = conversation

    def ask(self) -> None:
        """Send the request, if there is one and none is under way. The engine is idle."""
        if self._asked is None and self._wanted is not None:
            self._asked, self._wanted = _Asked(self.new_id(), self._wanted), None
            messages = (*self._asked.conversation.messages(), Message(Role.USER, REQUEST))
            self.send(Generate(self._asked.request_id, messages, _OPTIONS))

    def withdraw(self) -> None:
        """Give the title up, since the engine is needed otherwise."""
        if self.busy:
            self.send(Cancel())
        self._asked = self._wanted = None

    def receive(self, request_id: int, event: Event) -> None:
        """Take in an event; the conversation has its title with the last."""
        asked = self._asked
        if asked is None or asked.request_id != request_id:
            return
        if isinstance(event, Round):
            asked.pieces.extend(token.text for token in event.tokens)
        elif isinstance(event, Finished):
            self._asked = None
            title = "" if event.reason is FinishReason.CANCELLED else title_from("".join(asked.pieces))
            if title and not asked.conversation.heading.title_given:
                asked.conversation.rename(title)

    def fail(self, request_id: int | None) -> bool:
        """Leave the conversation without a title after an error; False if the error is not about one."""
        if self._asked is None or request_id != self._asked.request_id:
            return False
        self._asked = None
        return True
