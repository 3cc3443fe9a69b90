"""Stored replies: their models and options, rounds and ends.

A continued reply has several parts, each with a Started and a Finished of its own.
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
    """The identity of a model file, independent of its folder."""

    name: str
    """The name without folders."""
    sha256: str | None = None
    """None if it was not computed."""
    size_bytes: int | None = None
    sample: str | None = None
    """The digest of size, first and last megabyte, in 16 hexadecimal digits; None in replies of older versions."""

    def agrees_with(self, other: ModelFileRecord | None) -> bool:
        """True if it may be the same file: all fields known of both are equal."""
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
    """The models, options and trial of a reply."""

    options: ReplyOptions = field(default_factory=ReplyOptions)
    target: ModelFileRecord | None = None
    draft: ModelFileRecord | None = None
    pair_id: str | None = None
    plain_per_second: float | None = None
    """The measured speed of the target at depth 0, for the speed-up of a reply that was cut off."""
    template: str | None = None
    """The digest of the target's chat template, in 16 hexadecimal digits; None in replies of older versions."""
    trial: str | None = None
    """The id of the trial that it counts for."""
    arm: Arm | None = None
    """Its side of the trial."""
    copied: bool = False
    """True of a reply that an import added once more: only the first counts in statistics."""


@dataclass(frozen=True, slots=True)
class ReplyPart:
    """The result of one run of the engine."""

    about: ReplyMetadata
    state: ReplyState
    begin: int = 0
    """Characters of the message before this part."""
    started: Started | None = None
    rounds: tuple[Round, ...] = ()
    finished: Finished | None = None
    """Its text is empty, because the message has it."""
    error: LocalSpecError | None = None

    @property
    def tokens(self) -> tuple[Token, ...]:
        return tuple(token for round_ in self.rounds for token in round_.tokens)

    @property
    def said_n(self) -> int | None:
        """Characters of the message before the calls of this part; None if it makes none."""
        said_n = self.finished.said_n if self.finished is not None else None
        return None if said_n is None else self.begin + max(0, said_n)

    def to_reply(self) -> Reply:
        """The reply as the chat had it."""
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
    """A reply with its parts."""

    text: str
    """The text of the whole message. Text that was edited or imported has no tokens."""
    parts: tuple[ReplyPart, ...]
    """Oldest first, at least one."""

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens of all parts; their texts end where the message does."""
        return tuple(token for part in self.parts for token in part.tokens)

    def to_reply(self) -> Reply:
        """The reply as the chat would have it; figures of several parts are added up."""
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
    whole.held_n = replies[-1].held_n
    return whole
