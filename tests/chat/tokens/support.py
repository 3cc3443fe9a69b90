"""Replies made of rounds, as the screens and the line get them."""

from __future__ import annotations

from collections.abc import Iterable

from localspec.chat.tokens.inspectable_reply import InspectableReply
from localspec.engine.events import Round


def reply_of(rounds: Iterable[Round]) -> InspectableReply:
    """A reply that has received these rounds."""
    reply = InspectableReply()
    for round_ in rounds:
        reply.receive(round_)
    return reply
