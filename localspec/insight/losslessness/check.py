"""A check: one question about a pair, with the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class CheckOutcome(StrEnum):
    """The outcome of a check."""

    PASS = "pass"  # noqa: S105 -- no password
    FAIL = "fail"
    OPEN = "open"
    """There was nothing to test, so nothing was shown."""


@dataclass(frozen=True, slots=True)
class Check:
    """One question and its answer."""

    name: str
    outcome: CheckOutcome
    text: str
    """The answer in a sentence or two."""
    details: tuple[str, ...] = ()
    """Further lines, for a reader who wants to know more."""
    figures: dict[str, Any] = field(default_factory=dict)
    """The figures it rests on; values that JSON knows."""


def verdict_of(checks: Sequence[Check]) -> CheckOutcome:
    """The outcome of all checks: FAIL if one failed, PASS only if replies with proposals were compared."""
    outcomes = {check.name: check.outcome for check in checks}
    if CheckOutcome.FAIL in outcomes.values():
        return CheckOutcome.FAIL
    passed = {name for name, outcome in outcomes.items() if outcome is CheckOutcome.PASS}
    return CheckOutcome.PASS if "rounds" in passed and passed & {"greedy", "sampled"} else CheckOutcome.OPEN
