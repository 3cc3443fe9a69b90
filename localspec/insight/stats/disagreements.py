"""Where the target refused what was proposed: what a draft can learn from.

For every round with a rejected proposal one record: what the target had read last, what was proposed from there on,
and the token that the target chose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from localspec.engine.events import Origin, Proposal, Round, Token
from localspec.insight.stats.redaction import Redaction, replaced, touches
from localspec.runtime.messages import Message, Role
from localspec.store import ConversationDocument, ReplyMetadata, ReplyPart
from localspec.store.documents import MessageDocument
from localspec.store.timestamps import to_iso
from localspec.store.tree import chat_messages

CONTEXT_CHARS = 2000
"""How much of what was said before goes into a record."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A rejected proposal."""

    conversation: str
    message: str
    at: str
    """When the reply was begun, as in ISO 8601."""
    about: ReplyMetadata
    context: tuple[Message, ...]
    """The last messages, the reply itself as far as it was written at the end; the first may be cut at its front."""
    agreed: tuple[Token, ...]
    """What was proposed before in the same round, and accepted; their texts end the context."""
    rejected: tuple[Proposal, ...]
    """The first is the one refused; those behind it were never judged on their own."""
    target: Token
    """What the target chose in its place."""

    def to_dict(self) -> dict[str, Any]:
        """As on a line of the export."""
        about = self.about
        return {
            "conversation": self.conversation,
            "message": self.message,
            "at": self.at,
            "pair": about.pair_id,
            "target_model": about.target.name if about.target else None,
            "draft_model": about.draft.name if about.draft else None,
            "temperature": about.options.sampling.temperature,
            "context": [{"role": message.role, "content": message.content} for message in self.context],
            "agreed": [{"id": token.id, "text": token.text} for token in self.agreed],
            "rejected": [{"id": each.id, "text": each.text, "drafter": each.drafter} for each in self.rejected],
            "target": {"id": self.target.id, "text": self.target.text},
        }


@dataclass(slots=True)
class Disagreements:
    """Gathers them from conversations."""

    redaction: Redaction
    context_chars: int = CONTEXT_CHARS
    drafter: str | None = None
    """Only those that this drafter proposed; None for all."""
    pair_id: str | None = None
    """Only those of this pair; None for all."""
    withheld_n: int = 0
    """Records left out so far, because a proposal or the target's token belongs to what is redacted."""

    def of(self, document: ConversationDocument) -> Iterator[Disagreement]:
        """Those of a conversation, in the order in which they came about; none of deleted messages."""
        tree = document.tree
        for message in document.messages:
            if message.parts and message.node.deleted is None:
                before = tree.path(message.node.parent) if message.node.parent else ()
                said = [
                    Message(each.role, self.redaction.clean(each.content))
                    for each in chat_messages(document.heading.system, before)
                ]
                for number in range(len(message.parts)):
                    yield from self._of_part(document.heading.id, said, message, number)

    def _of_part(
        self, conversation: str, said: Sequence[Message], message: MessageDocument, number: int
    ) -> Iterator[Disagreement]:
        part, node = message.parts[number], message.node
        if self.pair_id is not None and self.pair_id != part.about.pair_id:
            return
        spans = self.redaction.spans(node.content)
        at = _begin(node.content, message.parts, number)
        for round_ in part.rounds:
            kept = list(_texts(round_, at))
            at = kept[-1][1]
            target, begin, end = round_.tokens[-1], kept[-1][0], kept[-1][1]
            if not self._wanted(round_):
                continue
            if touches(spans, kept[0][0], end) or self._reveals(node.content[:begin], round_.rejected):
                self.withheld_n += 1
                continue
            # Cleaned once more: cut here, it may match what the whole does not.
            written = self.redaction.clean(replaced(node.content[:begin], [span for span in spans if span[1] <= begin]))
            yield Disagreement(
                conversation,
                node.id,
                to_iso(node.created),
                part.about,
                _tail([*said, Message(Role.ASSISTANT, written)], self.context_chars),
                round_.tokens[:-1],
                round_.rejected,
                target,
            )

    def _wanted(self, round_: Round) -> bool:
        """Whether the target put something else in the place of a proposal."""
        if not round_.rejected or round_.tokens[-1].origin is not Origin.CORRECTED:
            return False
        return self.drafter is None or round_.rejected[0].drafter == self.drafter

    def _reveals(self, before: str, rejected: Sequence[Proposal]) -> bool:
        """Whether the proposals would have made something that is to be redacted."""
        proposed = "".join(each.text for each in rejected)
        return touches(self.redaction.spans(before + proposed), len(before), len(before) + len(proposed))


def _begin(content: str, parts: Sequence[ReplyPart], number: int) -> int:
    """Where the tokens of a part begin in the message. Text that was edited by hand stands before ``begin``."""
    return min(parts[number].begin, len(content))


def _texts(round_: Round, at: int) -> Iterator[tuple[int, int]]:
    """From where to where each token's text goes."""
    for token in round_.tokens:
        yield at, at + len(token.text)
        at += len(token.text)


def _tail(messages: Sequence[Message], chars: int) -> tuple[Message, ...]:
    """The last so many characters, and the messages they belong to."""
    kept: list[Message] = []
    for message in reversed(messages):
        content = message.content[-chars:] if chars > 0 else ""
        kept.append(Message(message.role, content))
        chars -= len(content)
        if chars <= 0:
            break
    return tuple(reversed(kept))
