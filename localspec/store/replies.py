"""How a reply came about: with which models and options, in which rounds, and how it ended.

A reply that is continued has several parts, each with an engine's own Started and Finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Finished, Round, Started, Token
from localspec.runtime.messages import Reply, ReplyOptions
from localspec.store.tree import ReplyState


@dataclass(frozen=True, slots=True)
class ModelFileRecord:
    """The file of a model, to be known again wherever it lies."""

    name: str
    """Without its folders."""
    sha256: str | None = None
    """None if nobody has reckoned it."""
    size_bytes: int | None = None
    sample: str | None = None
    """Of its size and its first and last megabyte, in 16 hexadecimal digits; None for replies of older versions."""

    def agrees_with(self, other: ModelFileRecord | None) -> bool:
        """Whether it may be the same file: nothing that is known of both differs."""
        if other is None or (self.name, self.size_bytes) != (other.name, other.size_bytes):
            return False
        known = ((self.sha256, other.sha256), (self.sample, other.sample))
        return all(mine == theirs for mine, theirs in known if mine is not None and theirs is not None)


class Arm(StrEnum):
    """The side of a trial that a reply was made for."""

    INCUMBENT = "incumbent"
    CANDIDATE = "candidate"


@dataclass(frozen=True, slots=True)
class ReplyMetadata:
    """What a reply is made with."""

    options: ReplyOptions = field(default_factory=ReplyOptions)
    target: ModelFileRecord | None = None
    draft: ModelFileRecord | None = None
    pair_id: str | None = None
    plain_per_second: float | None = None
    """Measured speed of the target at depth 0, for the speed-up of a reply that was cut off."""
    template: str | None = None
    """Of the target's chat template, in 16 hexadecimal digits; None for replies of older versions."""
    trial: str | None = None
    """Id of the trial that it counts for."""
    arm: Arm | None = None
    """Which side of the trial it is."""


@dataclass(frozen=True, slots=True)
class ReplyPart:
    """One run of the engine."""

    about: ReplyMetadata
    state: ReplyState
    begin: int = 0
    """Characters of the message that were there before this part."""
    started: Started | None = None
    rounds: tuple[Round, ...] = ()
    finished: Finished | None = None
    """Its text is left empty: the message has it."""
    error: LocalSpecError | None = None

    @property
    def tokens(self) -> tuple[Token, ...]:
        return tuple(token for round_ in self.rounds for token in round_.tokens)

    def to_reply(self) -> Reply:
        """As the chat had it while it grew."""
        reply = Reply()
        reply.tally.plain_per_second = self.about.plain_per_second
        if self.started is not None:
            reply.receive(self.started)
        for round_ in self.rounds:
            reply.receive(round_)
        if self.finished is not None:
            reply.receive(self.finished)
        elif self.error is not None:
            reply.fail(self.error)
        return reply


@dataclass(frozen=True, slots=True)
class StoredReply:
    """All that is known of one reply."""

    text: str
    """Of the whole message. What was edited by hand or brought from elsewhere has no tokens."""
    parts: tuple[ReplyPart, ...]
    """Oldest first, at least one."""

    @property
    def state(self) -> ReplyState:
        return self.parts[-1].state

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Those of all parts; their texts end where the text does."""
        return tuple(token for part in self.parts for token in part.tokens)

    @property
    def rounds(self) -> tuple[Round, ...]:
        """Those of all parts; each part counts its own from 0."""
        return tuple(round_ for part in self.parts for round_ in part.rounds)

    def to_reply(self) -> Reply:
        """As the chat would have it; the figures of a reply in several parts are added up anew."""
        replies = [part.to_reply() for part in self.parts]
        return replies[0] if len(replies) == 1 else _joined(replies)


def _joined(replies: Sequence[Reply]) -> Reply:
    whole = Reply(prompt=replies[0].prompt, finished=replies[-1].finished, error=replies[-1].error)
    whole.tally.plain_per_second = replies[-1].tally.plain_per_second
    for reply in replies:
        whole.tally.prompt_n += reply.tally.prompt_n
        whole.tally.prompt_s += reply.timings.prompt_ms / 1e3
        for round_ in reply.rounds:
            whole.receive(round_)
    return whole
