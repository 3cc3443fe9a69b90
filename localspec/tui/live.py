"""What the live line says, in order: how fast, how much faster than plain, and why.

Pure text of fixed widths: a figure changes in place and never moves its neighbours; what does not fit is
left out from the right. The numbers themselves are worded by ``localspec.figures``.
"""

from __future__ import annotations

from dataclasses import dataclass

from localspec import figures
from localspec.engine.events import Origin
from localspec.engine.tally import Timings

GAP = "  "


@dataclass(frozen=True, slots=True)
class Activity:
    """Something other than writing that is going on; ``fraction`` is None where there is no telling."""

    what: str
    fraction: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """What there is to show about a reply."""

    timings: Timings
    depth: int | None = None
    """Proposals asked for in the last round; None before the first."""
    drafter: str | None = None
    why_off: str | None = None
    """Why speculation is off, in a few words; None while it is on."""


def figures_line(shown: Figures, width: int) -> str:
    """The figures in order of importance, as many as fit into ``width`` cells."""
    timings = shown.timings
    fields = [
        f"{figures.speed(timings.predicted_per_second, fixed=True)} tokens/s",
        f"{figures.times(timings.speedup_vs_plain, fixed=True)} plain",
        f"{figures.percent(timings.draft_acceptance_rate, fixed=True)} accepted",
        f"{figures.length(timings.mean_acceptance_length, fixed=True)}/round",
        *_drafting(shown),
    ]
    line = ""
    for field in fields:
        longer = f"{line}{GAP}{field}" if line else field
        if len(longer) > width:
            break
        line = longer
    return line


def _drafting(shown: Figures) -> list[str]:
    if shown.why_off:
        return [f"speculation off: {shown.why_off}"]
    depth = figures.MISSING if shown.depth is None else str(shown.depth)
    return [f"depth {depth:>2}", f"{shown.drafter or figures.MISSING:<7}"]


def count_fields(timings: Timings) -> list[tuple[Origin, str]]:
    """Committed tokens by origin, each with a fixed width."""
    return [(origin, f"{figures.count(timings.origins.get(origin, 0), fixed=True)} {origin}") for origin in Origin]


def reply_summary(timings: Timings) -> str:
    """One quiet line under a finished reply; empty if there is nothing to count."""
    if not timings.predicted_n:
        return ""
    counts = [f"{n} {origin}" for origin in Origin if (n := timings.origins.get(origin, 0))]
    parts = [f"{figures.tokens(timings.predicted_n)}: {', '.join(counts)}"]
    if timings.speedup_vs_plain is not None:
        parts.append(f"{figures.times(timings.speedup_vs_plain)} plain")
    return " · ".join(parts)
