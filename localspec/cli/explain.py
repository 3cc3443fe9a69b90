"""``localspec run --explain``: each round with its proposals, their acceptance, times, and the reason for its depth."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from localspec.engine.events import Round
from localspec.engine.wire import why_text


def print_explanation(rounds: Iterable[Round]) -> None:
    """Write one line a round to standard error."""
    for round_ in rounds:
        print(explained(round_), file=sys.stderr)


def explained(round_: Round) -> str:
    """One round as a line."""
    what = f"{round_.accepted_n}/{round_.proposed_n} of {round_.drafter}" if round_.drafter else "plain"
    spent = f"{round_.total_s * 1e3:.1f} ms, {round_.draft_s * 1e3:.1f} of it drafting"
    why = f": {why}" if (why := why_text(round_)) else ""
    return f"round {round_.index}: {what}, {len(round_.tokens)} committed in {spent}{why}"
