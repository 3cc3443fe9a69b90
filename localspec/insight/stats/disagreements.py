"""Disagreements of draft and target, as training data for a draft.

For every round with a rejected proposal one record: the context, the proposals, and the token that the target chose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from localspec.engine.events import Origin, Proposal, Round, Token
from localspec.insight.stats.redaction import Redaction, replaced, touches
from localspec.runtime.messages import Message, Role
from localspec.store import ConversationDocument, Node, ReplyMetadata, ReplyPart
from localspec.store.timestamps import to_iso
from localspec.store.tree import chat_messages


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A rejected proposal."""

    conversation: str
    message: str
    at: str
    """The time at which the reply was begun, in ISO 8601."""
    about: ReplyMetadata
    context: tuple[Message, ...]
    """The last messages, ending with the reply as far as it was written; the first may be cut at its front."""
    agreed: tuple[Token, ...]
    """The accepted proposals of the same round; their texts end the context."""
    rejected: tuple[Proposal, ...]
    """The rejected proposal, and those after it, which were not judged on their own."""
    target: Token
    """The token that the target chose instead."""

    def to_dict(self) -> dict[str, Any]:
        """The object on a line of the export."""
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
    """Collects disagreements from conversations."""

    redaction: Redaction
    context_chars: int = 2000
    """The length of the context in a record."""
    drafter: str | None = None
    """Only proposals of this drafter; None for all."""
    pair_id: str | None = None
    """Only replies of this pair; None for all."""
    copied: bool = True
    """False to leave out replies that an import added once more."""
    withheld_n: int = 0
    """Records left out so far because a proposal or the target's token is part of redacted text."""

    def of(self, document: ConversationDocument) -> Iterator[Disagreement]:
        """The disagreements of a conversation in order, without deleted messages."""
        tree = document.tree
        for message in document.messages:
            if message.parts and message.node.deleted is None:
                before = tree.path(message.node.parent) if message.node.parent else ()
                history = [
                    Message(each.role, self.redaction.clean(each.content))
                    for each in chat_messages(document.heading.system, before)
                ]
                for part in message.parts:
                    if self.copied or not part.about.copied:
                        yield from self._of_part(document.heading.id, history, message.node, part)

    def _of_part(
        self, conversation: str, history: Sequence[Message], node: Node, part: ReplyPart
    ) -> Iterator[Disagreement]:
        if self.pair_id is not None and self.pair_id != part.about.pair_id:
            return
        spans = self.redaction.spans(node.content)
        end = min(part.begin, len(node.content))
        for round_ in part.rounds:
            if not round_.tokens:  # from a file of an earlier import
                continue
            target, first = round_.tokens[-1], end
            end += sum(len(token.text) for token in round_.tokens)
            begin = end - len(target.text)
            if not self._wanted(round_):
                continue
            proposed = "".join(each.text for each in round_.rejected)
            if touches(spans, first, end) or self.redaction.completes(node.content[:begin], proposed):
                self.withheld_n += 1
                continue
            # Redacted again: the cut text may match where the whole does not.
            written = self.redaction.clean(replaced(node.content[:begin], [span for span in spans if span[1] <= begin]))
            yield Disagreement(
                conversation,
                node.id,
                to_iso(node.created),
                part.about,
                _tail([*history, Message(Role.ASSISTANT, written)], self.context_chars),
                round_.tokens[:-1],
                round_.rejected,
                target,
            )

    def _wanted(self, round_: Round) -> bool:
        """True if the target replaced a proposal, of the wanted drafter."""
        if not round_.rejected or round_.tokens[-1].origin is not Origin.CORRECTED:
            return False
        return self.drafter is None or round_.rejected[0].drafter == self.drafter


def _tail(messages: Sequence[Message], chars: int) -> tuple[Message, ...]:
    """The last ``chars`` characters, as messages."""
    kept: list[Message] = []
    for message in reversed(messages):
        content = message.content[-chars:] if chars > 0 else ""
        kept.append(Message(message.role, content))
        chars -= len(content)
        if chars <= 0:
            break
    return tuple(reversed(kept))
