"""What is tried against what, on which turns, and by which rule it ends."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from localspec.runtime.chat_config import ChatConfig
from localspec.store import Arm

REPLY_FIELDS = ("spec", "depth")
"""Fields of ``ReplyOptions`` that can be tried: they differ from turn to turn at no cost."""
LOAD_FIELDS = (
    *("draft", "threads", "draft_threads", "gpu_layers", "draft_gpu_layers", "device", "draft_device"),
    *("flash_attn", "mmap"),
)
"""Fields of ``LoadOptions`` that can be tried. None changes what is said, only how soon; each needs a load."""

DEFAULT_SHARE = 0.2
DEFAULT_ERROR = 0.05
DEFAULT_MOST_N = 1000


@dataclass(frozen=True, slots=True)
class Change:
    """One field in which the candidate differs."""

    name: str
    """Out of ``REPLY_FIELDS`` or ``LOAD_FIELDS``."""
    before: Any
    """The incumbent's value."""
    after: Any


class Outcome(StrEnum):
    """How a trial ended."""

    PROMOTED = "promoted"
    ROLLED_BACK = "rolled back"
    UNDECIDED = "undecided"
    """As many turns as were agreed on have shown no difference; the incumbent stays."""
    STOPPED = "stopped"
    """By a person, before it was decided; the incumbent stays."""


@dataclass(frozen=True, slots=True)
class PromotedSetting:
    """A setting that a promotion wrote."""

    setting: str
    """As ``section.key``."""
    before: Any
    """None if it was not set."""
    after: Any
    pair: str | None = None
    """The pair in whose table it stands; None if it is for all."""


@dataclass(frozen=True, slots=True)
class End:
    """How a trial ended, with what it rested on: the replies themselves may be deleted later."""

    outcome: Outcome
    at: datetime
    why: str
    """In a sentence."""
    by: str = "test"
    """``test``, or ``person``."""
    figures: dict[str, Any] = field(default_factory=dict)
    """As ``Comparison.to_dict``."""
    written: tuple[PromotedSetting, ...] = ()
    added_pair: str | None = None
    """Id of the pair that a promotion added to the user's own."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial, under way while ``end`` is None."""

    id: str
    """Eight hexadecimal digits."""
    pair: str
    """Id of the pair on which it is tried."""
    changes: tuple[Change, ...]
    """At least one, each of another field."""
    begun: datetime
    share: float = DEFAULT_SHARE
    """Of turns, or of conversations, that go to the candidate: above 0, below 1."""
    error: float = DEFAULT_ERROR
    """How probable it is, at most, that a candidate is rolled back that is no worse; or promoted that is no better."""
    most_n: int = DEFAULT_MOST_N
    """Turns, or conversations, of both sides after which it ends undecided."""
    promotes: bool = True
    """Whether a candidate that is better is promoted; otherwise that is only said, and a person decides."""
    candidate_pair: str | None = None
    """Id of the pair whose draft is tried, if it is catalogued."""
    end: End | None = None

    @property
    def sticky(self) -> bool:
        """Whether the candidate has to be loaded, so that a conversation stays on the side it began on."""
        return any(change.name in LOAD_FIELDS for change in self.changes)

    @property
    def units(self) -> str:
        """What is assigned to a side."""
        return "conversations" if self.sticky else "turns"

    def suits(self, chat_config: ChatConfig) -> bool:
        """Whether ``chat_config`` is what the trial began from, in the pair and in all that is tried."""
        return chat_config.pair_id == self.pair and self._has(chat_config, Arm.INCUMBENT)

    def is_candidate(self, chat_config: ChatConfig) -> bool:
        """Whether ``chat_config`` is the candidate."""
        return chat_config.pair_id == self.pair and self._has(chat_config, Arm.CANDIDATE)

    def with_arm(self, chat_config: ChatConfig, arm: Arm) -> ChatConfig:
        """``chat_config`` as that side has it; of the two what it now is does not matter."""
        values = {change.name: self._value(change, arm) for change in self.changes}
        reply = {name: value for name, value in values.items() if name in REPLY_FIELDS}
        load = {name: value for name, value in values.items() if name in LOAD_FIELDS}
        return replace(chat_config, reply=replace(chat_config.reply, **reply), load=replace(chat_config.load, **load))

    def _has(self, chat_config: ChatConfig, arm: Arm) -> bool:
        return all(value_of(chat_config, change.name) == self._value(change, arm) for change in self.changes)

    def _value(self, change: Change, arm: Arm) -> Any:
        return change.after if arm is Arm.CANDIDATE else change.before


def value_of(chat_config: ChatConfig, name: str) -> Any:
    """The value of a field that can be tried."""
    return getattr(chat_config.reply if name in REPLY_FIELDS else chat_config.load, name)


def changes_between(incumbent: ChatConfig, candidate: ChatConfig) -> tuple[Change, ...]:
    """All fields that can be tried in which the two differ."""
    pairs = ((name, value_of(incumbent, name), value_of(candidate, name)) for name in (*REPLY_FIELDS, *LOAD_FIELDS))
    return tuple(Change(name, before, after) for name, before, after in pairs if before != after)


def worded(name: str, value: Any) -> str:
    """A value as the command line would have it."""
    if name == "spec":
        return "auto" if value is None else ",".join(value) or "off"
    if name == "draft":
        return "none" if value is None else Path(value).name
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "auto" if value is None else str(value)


def in_words(trial: Trial) -> str:
    """What is tried: "depth 6 instead of auto"."""
    return ", ".join(
        f"{change.name.replace('_', ' ')} {worded(change.name, change.after)} "
        f"instead of {worded(change.name, change.before)}"
        for change in trial.changes
    )
