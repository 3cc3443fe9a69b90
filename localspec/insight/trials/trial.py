"""A trial: the candidate's changes, the share of turns, the rule for the end, and the outcome."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from localspec.runtime.chat_config import ChatConfig
from localspec.store import Arm

REPLY_FIELDS = ("spec", "depth")
"""Fields of ``ReplyOptions`` that can be tried; they can differ from turn to turn at no cost."""
LOAD_FIELDS = (
    *("draft", "threads", "draft_threads", "gpu_layers", "draft_gpu_layers", "device", "draft_device"),
    *("flash_attn", "mmap"),
)
"""Fields of ``LoadOptions`` that can be tried. They change the speed, not the text, and each needs a load."""


@dataclass(frozen=True, slots=True)
class Change:
    """One field in which the candidate differs."""

    name: str
    """A field in ``REPLY_FIELDS`` or ``LOAD_FIELDS``."""
    before: Any
    """The incumbent's value."""
    after: Any


class Outcome(StrEnum):
    """The outcome of a trial."""

    PROMOTED = "promoted"
    ROLLED_BACK = "rolled back"
    UNDECIDED = "undecided"
    """The agreed number of turns has shown no difference; the incumbent stays."""
    STOPPED = "stopped"
    """A person stopped it before it was decided; the incumbent stays."""


@dataclass(frozen=True, slots=True)
class PromotedSetting:
    """A setting that a promotion wrote."""

    setting: str
    """The name of the setting, ``section.key``."""
    before: Any
    """None if it was not set."""
    after: Any
    pair: str | None = None
    """The pair in whose table it is; None for all pairs."""


@dataclass(frozen=True, slots=True)
class TrialEnd:
    """The end of a trial with its figures, because its replies may be deleted later."""

    outcome: Outcome
    at: datetime
    why: str
    """The reason in a sentence."""
    by: str = "test"
    """``test`` or ``person``."""
    figures: dict[str, Any] = field(default_factory=dict)
    """The object of ``TrialComparison.to_dict``."""
    written: tuple[PromotedSetting, ...] = ()
    added_pair: str | None = None
    """The id of a pair that the promotion added to the user's own."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial, which is running while ``end`` is None."""

    id: str
    """Eight hexadecimal digits."""
    pair: str
    """The id of the pair."""
    changes: tuple[Change, ...]
    """The candidate's changes: at least one, each of another field."""
    begun: datetime
    share: float = 0.2
    """The share of turns or conversations for the candidate, above 0 and below 1."""
    error: float = 0.05
    """The greatest chance of rolling back a candidate that is not worse, and of promoting one that is not better."""
    most_n: int = 1000
    """The number of turns or conversations of both sides after which it ends undecided."""
    promotes: bool = True
    """True if a better candidate is promoted automatically; otherwise a person decides."""
    candidate_pair: str | None = None
    """The id of the pair whose draft is tried, if it is catalogued."""
    end: TrialEnd | None = None

    @property
    def sticky(self) -> bool:
        """True if the candidate must be loaded, so that a conversation stays on the side on which it began."""
        return any(change.name in LOAD_FIELDS for change in self.changes)

    @property
    def units(self) -> str:
        """The units that are assigned to sides."""
        return "conversations" if self.sticky else "turns"

    def suits(self, chat_config: ChatConfig) -> bool:
        """True if ``chat_config`` is the incumbent, in the pair and in all tried fields."""
        return chat_config.pair_id == self.pair and self._has(chat_config, Arm.INCUMBENT)

    def is_candidate(self, chat_config: ChatConfig) -> bool:
        """True if ``chat_config`` is the candidate."""
        return chat_config.pair_id == self.pair and self._has(chat_config, Arm.CANDIDATE)

    def with_arm(self, chat_config: ChatConfig, arm: Arm) -> ChatConfig:
        """``chat_config`` with the tried fields of a side."""
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
    """The tried fields in which two configurations differ."""
    pairs = ((name, value_of(incumbent, name), value_of(candidate, name)) for name in (*REPLY_FIELDS, *LOAD_FIELDS))
    return tuple(Change(name, before, after) for name, before, after in pairs if before != after)


def worded(name: str, value: Any) -> str:
    """A value as on the command line."""
    if name == "spec":
        return "auto" if value is None else ",".join(value) or "off"
    if name == "draft":
        return "none" if value is None else Path(value).name
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "auto" if value is None else str(value)


def in_words(trial: Trial) -> str:
    """The changes in words: "depth 6 instead of auto"."""
    return ", ".join(
        f"{change.name.replace('_', ' ')} {worded(change.name, change.after)} "
        f"instead of {worded(change.name, change.before)}"
        for change in trial.changes
    )
