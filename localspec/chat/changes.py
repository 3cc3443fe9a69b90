"""Changes of a chat session, for the screen that draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localspec.base.errors import LocalSpecError
from localspec.chat.turn import Turn
from localspec.engine.events import Event, Finished, Proposal, Round
from localspec.runtime.pair_info import PairInfo


@dataclass(frozen=True, slots=True)
class Began:
    """The reply of a turn has begun."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class Wrote:
    """The reply grew."""

    turn: Turn
    rejected: tuple[Proposal, ...]
    """The tokens that the last round rejected, while the reply goes on."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The reply is complete, stopped or broken off: see its ``finished`` and ``error``."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """The pair could not be loaded. Messages that wait are kept."""

    error: LocalSpecError


@dataclass(frozen=True, slots=True)
class PairReady:
    """The pair is loaded."""

    info: PairInfo


@dataclass(frozen=True, slots=True)
class TokenCountAnswered:
    """The engine's answer to ``count_tokens``; None if it could not say."""

    token_n: int | None


@dataclass(frozen=True, slots=True)
class TokensLearned:
    """A query about tokens of a reply was answered or failed; see ``ChatSession.token_queries``."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class Called:
    """The calls of a reply have gone on: see ``ToolUse.chain`` and the turn's ``results``."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class GoesOn:
    """A reply to the results of calls waits to be made."""

    turn: Turn


Change = Called | GoesOn | Began | Wrote | Ended | LoadFailed | PairReady | TokenCountAnswered | TokensLearned


def written(turn: Turn, events: Sequence[Event]) -> list[Wrote]:
    """The growth of a reply by these events, as one change; the rejected tokens are shown only while it goes on."""
    rounds = [event for event in events if isinstance(event, Round)]
    if not rounds:
        return []
    over = any(isinstance(event, Finished) for event in events)
    return [Wrote(turn, () if over else rounds[-1].rejected)]
