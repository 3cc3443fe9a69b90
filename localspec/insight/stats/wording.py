"""The names and formats of figures, shared by the command line and the chat app."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from localspec.insight.stats.digest import Digest
from localspec.insight.stats.objectives import Miss, seconds
from localspec.insight.stats.overview import Overview
from localspec.runtime.figures import MISSING, length, nats, percent, speed, times


def whole(value: float | None) -> str:
    """A whole number."""
    return MISSING if value is None else f"{value:.0f}"


@dataclass(frozen=True, slots=True)
class ShownMeasure:
    """A measure of ``digest.MEASURES`` as a row of a table of quantiles."""

    head: str
    measure: str
    written: Callable[[float | None], str]
    is_share: bool = False


SHOWN = (
    ShownMeasure("acceptance", "acceptance", percent, is_share=True),
    ShownMeasure("mean acceptance length", "mean_acceptance_length", length),
    ShownMeasure("time to first token", "ttft_s", seconds),
    ShownMeasure("tokens/s", "tokens_per_second", speed),
    ShownMeasure("speed-up", "speedup_vs_plain", times),
    ShownMeasure("rounds", "rounds_n", whole),
    ShownMeasure("verify share", "verify_share", percent, is_share=True),
    ShownMeasure("ignored", "ignored_share", percent, is_share=True),
    ShownMeasure("divergence, in nats", "divergence", nats),
)


@dataclass(frozen=True, slots=True)
class GroupColumn:
    """A column of a table of groups."""

    head: str
    text: Callable[[Digest], str]
    optional: bool = False
    """True if it is left out first on a narrow terminal."""


def _quantile(measure: str, share: float, written: Callable[[float | None], str]) -> Callable[[Digest], str]:
    return lambda digest: written(digest.measures[measure].quantile(share))


GROUP_COLUMNS = (
    GroupColumn("REPLIES", lambda digest: f"{digest.replies_n:,}"),
    GroupColumn("ACCEPT", lambda digest: percent(digest.acceptance)),
    GroupColumn("LENGTH", lambda digest: length(digest.mean_acceptance_length)),
    GroupColumn("SPEED-UP", _quantile("speedup_vs_plain", 0.5, times)),
    GroupColumn("TTFT P95", _quantile("ttft_s", 0.95, seconds)),
    GroupColumn("TOKENS/S P50", _quantile("tokens_per_second", 0.5, speed), optional=True),
    GroupColumn("VERIFY", _quantile("verify_share", 0.5, percent), optional=True),
    GroupColumn("IGNORED", lambda digest: f"{digest.ignored_n:,}", optional=True),
    GroupColumn("TTFT P99", _quantile("ttft_s", 0.99, seconds), optional=True),
)

OBJECTIVES: dict[str, tuple[str, str, Callable[[float], str]]] = {
    "ttft_p95_s": ("p95 of time to first token", "at most", seconds),
    "min_speedup": ("median speed-up", "at least", times),
}
"""The fields of ``Objectives``: the name of the figure, the direction, and the format."""


def wanted(miss: Miss) -> str:
    """The objective in words: "at most 1.50 s"."""
    _, sign, written = OBJECTIVES[miss.objective]
    return f"{sign} {written(miss.wanted)}"


def replies_text(n: int) -> str:
    """A number of replies in words."""
    return "1 reply" if n == 1 else f"{n:,} replies"


def span_text(overview: Overview) -> str:
    """The first and the last day, or the only one; empty without replies."""
    ends = [moment for moment in (overview.first, overview.last) if moment is not None]
    return " to ".join(sorted({f"{moment.astimezone():%Y-%m-%d}" for moment in ends}))


def basis(overview: Overview) -> str:
    """The basis of the figures in a sentence: replies, tokens, rounds and proposals."""
    digest = overview.whole
    of = f"of {next(iter(overview.pairs))}" if len(overview.pairs) == 1 else f"of {len(overview.pairs)} pairs"
    return (
        f"{replies_text(digest.replies_n)} {of}, {span_text(overview)}: {digest.tokens_n:,} tokens in "
        f"{digest.rounds_n:,} rounds; of {digest.draft_n:,} proposals {digest.accepted_n:,} were accepted "
        f"({percent(digest.acceptance)}) and {digest.ignored_n:,} ignored, past the end of a reply; "
        f"{length(digest.mean_acceptance_length)} tokens a round."
    )
