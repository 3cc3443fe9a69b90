"""Compaction: a summary in place of old turns, for a conversation that no longer fits into the context.

The model that replies writes the summary, as a reply to a request of ours. ``store.summaries`` keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from localspec.runtime.messages import OFF, Message, ReplyOptions, Role
from localspec.store import StoredConversation
from localspec.store.summaries import later, messages_of, turns

KEPT_TURNS_N = 2
"""The latest turns that stay as they are, unless the reader says otherwise."""
SUMMARY_TOKENS_N = 512
"""The most tokens of a summary."""
REQUEST = (
    "Summarise our conversation so far in at most 200 words, so that you can go on from the summary alone: what I "
    "asked for, what was found and decided, the names, numbers and code that still matter, and what is open. "
    "Write the summary and nothing else."
)


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """A request for a summary of the first turns of a conversation."""

    through: str
    """Id of the last message that the summary is to stand for."""
    turns_n: int
    """The number of turns it is to stand for, those of an earlier summary included."""
    messages: tuple[Message, ...]
    """The prompt. It begins as the conversation does, so that most of it is in the cache."""


def summary_request(conversation: StoredConversation, kept_n: int = KEPT_TURNS_N) -> SummaryRequest | None:
    """Ask for a summary of all turns but the last ``kept_n``; None if no reply is among them."""
    recap = conversation.recap
    old = turns(later(conversation.path, recap))
    old = old[: max(0, len(old) - kept_n)]
    nodes = [node for turn in old for node in turn]
    if not any(node.content and node.role is Role.ASSISTANT for node in nodes):
        return None
    covered = recap.covered if recap is not None else ()
    messages = messages_of(conversation.system, (*covered, *nodes), recap)
    if messages[-1].role is Role.USER:
        messages.pop()
    before_n = recap.turns_n if recap is not None else 0
    return SummaryRequest(nodes[-1].id, before_n + len(old), (*messages, Message(Role.USER, REQUEST)))


def summary_options(options: ReplyOptions) -> ReplyOptions:
    """The options of a reply changed for a summary: no grammar, stop strings or reasoning, and a limit of tokens."""
    sampling = replace(options.sampling, grammar=None, grammar_triggers=())
    return replace(options, sampling=sampling, stop=(), max_tokens=SUMMARY_TOKENS_N, reasoning=OFF)
