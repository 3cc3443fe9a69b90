"""A message and its reply: one turn of the conversation."""

from __future__ import annotations

from dataclasses import dataclass, field

from localspec.chat.compaction import SummaryRequest
from localspec.chat.tokens.inspectable_reply import InspectableReply
from localspec.engine.events import FinishReason
from localspec.runtime.worker.messages import Generate
from localspec.store import Node, ReplyMetadata


@dataclass(slots=True, eq=False)
class Turn:
    """A message and its reply, which is empty while the message waits.

    ``question`` and ``answer`` are the ids of the two in the stored conversation.
    """

    prompt: str
    question: str | None = None
    """Id of the message, or of the result of a call that the reply goes on from.

    None while the message waits, and for a reply without a message above it.
    """
    answer: str | None = None
    """Id of the reply; None before it has begun."""
    reply: InspectableReply = field(default_factory=InspectableReply)
    results: tuple[Node, ...] = ()
    """The results of the calls that the reply made, in their order."""
    lead: str = ""
    """The reply's text before its first token: by a person or another program, or all while tokens are not loaded."""
    lead_held_n: int = 0
    """Characters at the end of ``lead`` that are the text of calls."""
    shown: str = ""
    """The message with the names of its attachments in place of their text, cut short; empty if it is short itself."""
    asked: Generate | None = None
    """The request to the engine; None while the message waits, and for a restored turn."""
    about: ReplyMetadata | None = None
    """The pair and options of a restored reply, if one run of the engine made all of it."""
    loaded: bool = True
    """False while the reply's tokens are still to be read from the store."""
    looked_into: bool = False
    """True while the inspector shows the reply, so that its tokens must stay."""
    cut_off: bool = False
    """True if the program ended in the middle of the reply."""
    summary_request: SummaryRequest | None = None
    """The turns to summarise and the prompt, if the reply is to be a summary and is not stored yet."""
    stands_for_n: int = 0
    """The number of turns that the reply summarises; the model reads it in their place. 0 for any other reply."""

    @property
    def text(self) -> str:
        return self.lead + self.reply.text

    @property
    def said(self) -> str:
        """The reply so far without the text of its calls."""
        text = self.text
        return text[: len(text) - self._held_n]

    @property
    def _held_n(self) -> int:
        return self.reply.held_n if self.reply.tokens else self.lead_held_n

    @property
    def is_summary(self) -> bool:
        return self.stands_for_n > 0

    @property
    def size(self) -> int:
        """Characters of the message and its reply."""
        return len(self.prompt) + len(self.text)

    def rows(self, width: int) -> int:
        """An estimate of its height on the screen, for a turn that was never drawn."""
        return _rows(self.shown or self.prompt, width) + _rows(self.said, width) + 4

    @property
    def complete(self) -> bool:
        """True if the model itself ended the reply."""
        return self.reply.finished is FinishReason.STOP and not self.cut_off

    @property
    def continued(self) -> bool:
        """True if the reply was made by several runs of the engine."""
        return self.reply.continued

    def go_on(self) -> None:
        """Reopen the reply: the engine is to continue it."""
        self.reply.go_on()
        self.cut_off, self.asked, self.lead_held_n = False, None, 0

    def unload(self) -> None:
        """Forget the tokens of the reply, which can be read again; its text stays."""
        self.lead, self.lead_held_n, self.loaded = self.text, self._held_n, False
        self.reply = InspectableReply(continued=self.continued)


def _rows(text: str, width: int) -> int:
    return sum(len(line) // width + 1 for line in text.split("\n")) if text else 0
