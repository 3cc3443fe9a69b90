"""Changes of a chat session, for the screen that draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localspec.base.errors import LocalSpecError
from localspec.chat.turn import Turn
from localspec.engine.events import Event, Finished, Proposal, Round
from localspec.runtime.pair_info import PairInfo


@dataclass(frozen=True, slots=True)
class _OfTurn:
    turn: Turn


class Began(_OfTurn):
    """The reply of a turn has begun."""


@dataclass(frozen=True, slots=True)
class Wrote:
    """The reply grew."""

    turn: Turn
    rejected: tuple[Proposal, ...]
    """The tokens that the last round rejected, while the reply goes on."""


class Ended(_OfTurn):
    """The reply is complete, stopped or broken off: see its ``finished`` and ``error``."""


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """The pair could not be loaded. Messages that wait are kept."""

    error: LocalSpecError


@dataclass(frozen=True, slots=True)
class PairReady:
    info: PairInfo


@dataclass(frozen=True, slots=True)
class TokenCountAnswered:
    """The engine's answer to ``count_tokens``; None if it could not say."""

    token_n: int | None


class TokensLearned(_OfTurn):
    """A query about tokens of a reply was answered or failed; see ``ChatSession.token_queries``."""


class Called(_OfTurn):
    """The calls of a reply have gone on: see ``ToolUse.chain`` and the turn's ``results``."""


class GoesOn(_OfTurn):
    """A reply to the results of calls waits to be made."""


Change = Called | GoesOn | Began | Wrote | Ended | LoadFailed | PairReady | TokenCountAnswered | TokensLearned


def written(turn: Turn, events: Sequence[Event]) -> list[Wrote]:
    """The growth of a reply by these events, as one change; the rejected tokens are shown only while it goes on."""
    rounds = [event for event in events if isinstance(event, Round)]
    if not rounds:
        return []
    over = any(isinstance(event, Finished) for event in events)
    return [Wrote(turn, () if over else rounds[-1].rejected)]
