"""A message and its reply, as they stand below one another on the screen."""

from __future__ import annotations

from dataclasses import dataclass, field

from localspec.chat.compaction import SummaryRequest
from localspec.chat.tokens.inspectable_reply import InspectableReply
from localspec.engine.events import FinishReason
from localspec.runtime.worker.messages import Generate
from localspec.store import ReplyMetadata


@dataclass(slots=True, eq=False)
class Turn:
    """A message and what became of it; ``reply`` is empty while it waits its turn.

    The ids name the two in the conversation that stores them.
    """

    prompt: str
    question: str | None = None
    """Id of the message; None while it waits, and for a reply that no message stands above."""
    answer: str | None = None
    """Id of the reply; None as long as there is none."""
    reply: InspectableReply = field(default_factory=InspectableReply)
    lead: str = ""
    """Text of the reply before its first token: what a person or another program wrote, or all that is not loaded."""
    shown: str = ""
    """The message in short, with the names of its attachments in place of their text; empty if it is short itself."""
    asked: Generate | None = None
    """What the engine was asked; None while the message waits, and for what was restored."""
    about: ReplyMetadata | None = None
    """What a restored reply was made with, if one run of the engine made all of it."""
    loaded: bool = True
    """Whether the reply has been read from where it is stored."""
    looked_into: bool = False
    """Whether somebody looks at its single tokens, so that they must stay."""
    cut_off: bool = False
    """Whether the program ended in the middle of the reply."""
    summary_request: SummaryRequest | None = None
    """The turns to summarise and the prompt, if the reply is to be a summary and is not stored yet."""
    stands_for_n: int = 0
    """Turns that the reply stands for, if it is their summary; the model is told it in their place."""

    @property
    def begun(self) -> bool:
        """Whether there is a reply, if only an empty one."""
        return self.asked is not None or self.answer is not None

    @property
    def text(self) -> str:
        """The reply so far."""
        return self.lead + self.reply.text

    @property
    def is_summary(self) -> bool:
        return self.stands_for_n > 0

    @property
    def size(self) -> int:
        """Characters of the message and its reply."""
        return len(self.prompt) + len(self.text)

    def rows(self, width: int) -> int:
        """About how high it is on the screen, before it was ever drawn."""
        return _rows(self.shown or self.prompt, width) + _rows(self.text, width) + 4

    @property
    def complete(self) -> bool:
        """Whether the model itself ended the reply."""
        return self.reply.finished is FinishReason.STOP and not self.cut_off

    @property
    def continued(self) -> bool:
        """True if the reply was made by several runs of the engine."""
        return self.reply.continued

    def go_on(self) -> None:
        """Reopen the reply: the engine is to continue it."""
        self.reply.go_on()
        self.cut_off, self.asked = False, None

    def unload(self) -> None:
        """Forget the tokens of the reply, which can be read again; its text stays."""
        self.lead, self.reply, self.loaded = self.text, InspectableReply(continued=self.continued), False


def _rows(text: str, width: int) -> int:
    return sum(len(line) // width + 1 for line in text.split("\n")) if text else 0
