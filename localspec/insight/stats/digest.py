"""The digest of many replies: distributions and totals, updated one reply at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from localspec.insight.stats.sketch import Sketch
from localspec.store import ReplyRecord

QUANTILES = (0.05, 0.5, 0.95, 0.99)
ACCEPTANCE_BINS = 10

MEASURES: Mapping[str, Callable[[ReplyRecord], float | None]] = {
    "acceptance": lambda run: run.timings.draft_acceptance_rate,
    "mean_acceptance_length": lambda run: run.timings.mean_acceptance_length,
    "ttft_s": lambda run: run.ttft_s,
    "tokens_per_second": lambda run: run.timings.predicted_per_second,
    "speedup_vs_plain": lambda run: run.timings.speedup_vs_plain,
    "rounds_n": lambda run: float(run.timings.rounds_n),
    "verify_share": lambda run: _share(run.timings.verify_ms, run.timings.predicted_ms),
    "ignored_share": lambda run: _share(run.timings.draft_n_ignored, run.timings.draft_n),
    "divergence": lambda run: run.timings.divergence,
}
"""The measures of a reply by their names in ``--json``; None if not measured."""


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


class Digest:
    """Distributions over replies, and shares over all of their tokens."""

    def __init__(self) -> None:
        self.replies_n = 0
        self.tokens_n = 0
        self.draft_n = 0
        self.accepted_n = 0
        self.ignored_n = 0
        self.rounds_n = 0
        self.measures = {name: Sketch() for name in MEASURES}
        self.reasons: Counter[str] = Counter()
        """Counts of the ways in which replies ended."""

    def add(self, run: ReplyRecord) -> None:
        """Count a reply."""
        timings = run.timings
        self.replies_n += 1
        self.tokens_n += timings.predicted_n
        self.draft_n += timings.draft_n
        self.accepted_n += timings.draft_n_accepted
        self.ignored_n += timings.draft_n_ignored
        self.rounds_n += timings.rounds_n
        self.reasons[run.reason or run.state] += 1
        for name, measure in MEASURES.items():
            self.measures[name].add(measure(run))

    @property
    def acceptance(self) -> float | None:
        """The acceptance of all proposals together."""
        return _share(self.accepted_n, self.draft_n)

    @property
    def mean_acceptance_length(self) -> float | None:
        """Tokens per round over all rounds."""
        return _share(self.tokens_n, self.rounds_n)

    def to_dict(self) -> dict[str, Any]:
        """The object for ``--json``."""
        return {
            "replies_n": self.replies_n,
            "tokens_n": self.tokens_n,
            "rounds_n": self.rounds_n,
            "draft_n": self.draft_n,
            "draft_n_accepted": self.accepted_n,
            "draft_n_ignored": self.ignored_n,
            "draft_acceptance_rate": self.acceptance,
            "mean_acceptance_length": self.mean_acceptance_length,
            "reasons": dict(sorted(self.reasons.items())),
            "acceptance_histogram": self.measures["acceptance"].histogram(0, 1, ACCEPTANCE_BINS),
            "by_reply": {name: _sketch_to_dict(sketch) for name, sketch in self.measures.items()},
        }


def _sketch_to_dict(sketch: Sketch) -> dict[str, Any]:
    quantiles = {f"p{share * 100:.0f}": sketch.quantile(share) for share in QUANTILES}
    ends = {"least": sketch.least, "most": sketch.most} if sketch.n else {"least": None, "most": None}
    return {"n": sketch.n, "mean": sketch.mean, **ends, **quantiles}
