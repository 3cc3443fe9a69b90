"""Why a round was decoded plainly although there was somebody to propose: written into ``Round.why``, read from it.

A drafter that fails is left out for the rest of its reply; a depth policy that expects too little of the drafters
proposes nothing for a while. Both are told with every round, so that whoever reads events or the store later knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from localspec.engine.events import Round

_FAILED = "{name} is left out, it failed: {message}"
_FAILURE = re.compile(r"(?:^|; )([\w+-]+) is left out, it failed: (.*?)(?=; [\w+-]+ is left out, it failed: |\Z)", re.S)


class Fallback(StrEnum):
    """Why nothing was proposed."""

    FAILED = "failed"
    """All who might have were left out, for they failed."""
    NO_GAIN = "no_gain"
    """The depth policy expected that it would not pay, or nobody had anything to propose."""


def why_of(explanation: str, failures: Mapping[str, str]) -> str:
    """``Round.why``: what the depth policy says, and for each drafter that was left out, what it said."""
    failed = [_FAILED.format(name=name, message=message) for name, message in failures.items()]
    return "; ".join(filter(None, [explanation, *failed]))


def failures_of(round_: Round) -> dict[str, str]:
    """The drafters that were left out, with what they said when they failed."""
    return dict(_FAILURE.findall(round_.why))


def fallback_of(round_: Round) -> Fallback | None:
    """None for a round with a proposal, and where none was wanted."""
    if round_.depth or not round_.why:
        return None
    return Fallback.FAILED if failures_of(round_) else Fallback.NO_GAIN


def failure_note(round_: Round) -> str:
    """A sentence's worth about the drafters that were left out, without its full stop; empty if none was."""
    return "; ".join(
        f"the {name} failed and is left out of this reply: {message.rstrip('.')}"
        for name, message in failures_of(round_).items()
    )
