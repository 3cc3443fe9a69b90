"""Turns restored from the store: first as text; the tokens of a reply are read when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from localspec.base.errors import StoreError
from localspec.chat.compose.attachment import brief
from localspec.chat.reply_metadata import reply_about
from localspec.chat.tokens.inspectable_reply import InspectableReply, TokenSource
from localspec.chat.turn import Turn
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import Message
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import Generate
from localspec.store import ModelFileRecord, Node, Recap, ReplyState, StoredConversation

SHOWN_ROWS = 19
SHOWN_CHARS = 8_000
"""The longest part of a question that is shown; with the row that says so it fills a turn's limit."""


def restored(question: Node | None, answer: Node | None) -> Turn:
    """A turn with a message and its reply as text; the message is not shown if it is the result of a call."""
    said = question is not None and question.call is None
    return Turn(
        question.content if question and said else "",
        question.id if question else None,
        answer.id if answer else None,
        lead=answer.content if answer else "",
        lead_held_n=len(answer.content) - len(answer.said) if answer else 0,
        shown=brief(question.content, SHOWN_ROWS, SHOWN_CHARS) if question and said else "",
        loaded=answer is None,
        cut_off=answer is not None and answer.state is ReplyState.CUT_OFF,
    )


def restored_summary(recap: Recap) -> Turn:
    """A turn with a summary as text."""
    turns_n = recap.turns_n
    return Turn("", answer=recap.node.id, lead=recap.node.content, loaded=False, stands_for_n=turns_n)


def read_reply(turn: Turn, stored: StoredConversation) -> None:
    """Read the reply's tokens, if that was not done yet. Where they cannot be read, the text stays."""
    if turn.loaded or turn.answer is None:
        return
    turn.loaded = True
    try:
        found = stored.reply(turn.answer)
    except (StoreError, ValueError):
        return
    if found is None:
        return
    reply = found.to_reply()
    if turn.lead.endswith(reply.text):
        turn.lead = turn.lead.removesuffix(reply.text)
        turn.reply = InspectableReply.restored(reply, continued=len(found.parts) > 1)
        turn.about = found.parts[0].about if len(found.parts) == 1 and not turn.lead else None


def recall_source(
    turn: Turn, messages: Callable[[], Sequence[Message]], chat_config: ChatConfig, info: PairInfo | None
) -> None:
    """Note the request that a restored reply answered, if the pair that wrote it is loaded now."""
    about, now = turn.about, reply_about(chat_config, info)
    if about is None or turn.reply.sources or now.target is None or turn.is_summary:
        return
    if now.target.agrees_with(about.target) and _agree(now.draft, about.draft):
        asked = Generate(0, tuple(messages()), about.options)
        turn.reply.sources.append(TokenSource(0, asked, chat_config.load))


def _agree(one: ModelFileRecord | None, other: ModelFileRecord | None) -> bool:
    """True if both may be the same file, or both are None."""
    return other is None if one is None else one.agrees_with(other)
