"""Figures of replies as a person reads them, in 80 columns and without colour."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from localspec.cli.tables import Column, columns, fitted, paragraph, width
from localspec.figures import MISSING, length, percent, speed, times
from localspec.stats.charts import bar, heights, shape
from localspec.stats.digest import ACCEPTANCE_BINS, Digest
from localspec.stats.objectives import Miss, Objectives, seconds
from localspec.stats.overview import Overview
from localspec.stats.sketch import Sketch

if TYPE_CHECKING:
    from localspec.stats.watch import Notice

_SHAPE_BINS = 16
_DAYS_N = 60
_WIDEST = 100
_SHARES = (0.05, 0.5, 0.95, 0.99)


def _whole(value: float | None) -> str:
    return MISSING if value is None else f"{value:.0f}"


@dataclass(frozen=True, slots=True)
class _Line:
    """A measure of the table."""

    head: str
    measure: str
    written: Callable[[float | None], str]
    is_share: bool = False


_LINES = (
    _Line("acceptance", "acceptance", percent, is_share=True),
    _Line("mean acceptance length", "mean_acceptance_length", length),
    _Line("time to first token", "ttft_s", seconds),
    _Line("tokens/s", "tokens_per_second", speed),
    _Line("speed-up", "speedup_vs_plain", times),
    _Line("rounds", "rounds_n", _whole),
    _Line("verify share", "verify_share", percent, is_share=True),
    _Line("ignored", "ignored_share", percent, is_share=True),
)


def whole_lines(overview: Overview) -> Iterator[str]:
    """All replies together: a table, the histogram of acceptance, and the days."""
    yield paragraph(_basis(overview))
    yield ""
    yield f"{'BY REPLY':22}  {'P5':>7}  {'P50':>7}  {'P95':>7}  {'P99':>7}  LEAST TO MOST"
    for line in _LINES:
        yield _measure_line(line, overview.whole.measures[line.measure])
    yield ""
    yield from _acceptance_lines(overview.whole)
    yield from _day_lines(overview)


def _basis(overview: Overview) -> str:
    digest, first, last = overview.whole, overview.first, overview.last
    assert first is not None
    assert last is not None
    days = sorted({f"{moment.astimezone():%Y-%m-%d}" for moment in (first, last)})
    replies = "1 reply" if digest.replies_n == 1 else f"{digest.replies_n:,} replies"
    of = f"of {next(iter(overview.pairs))}" if len(overview.pairs) == 1 else f"of {len(overview.pairs)} pairs"
    return (
        f"{replies} {of}, {' to '.join(days)}: {digest.tokens_n:,} tokens in {digest.rounds_n:,} rounds; "
        f"of {digest.draft_n:,} proposals {digest.accepted_n:,} were accepted ({percent(digest.acceptance)}) and "
        f"{digest.ignored_n:,} ignored, past the end of a reply; "
        f"{length(digest.mean_acceptance_length)} tokens a round."
    )


def _measure_line(line: _Line, sketch: Sketch) -> str:
    cells = [f"{line.written(sketch.quantile(share)):>7}" for share in _SHARES]
    return "  ".join([f"{line.head:22}", *cells, _shape(sketch, is_share=line.is_share)]).rstrip()


def _shape(sketch: Sketch, *, is_share: bool) -> str:
    if not sketch.n:
        return ""
    low, high = (0.0, 1.0) if is_share else (sketch.least, sketch.most)
    return shape(sketch.histogram(low, high, _SHAPE_BINS), ascii_only=_ascii_only())


def _acceptance_lines(digest: Digest) -> Iterator[str]:
    sketch = digest.measures["acceptance"]
    if not sketch.n:
        yield "Nothing was proposed, so there is no acceptance."
        return
    counts = sketch.histogram(0, 1, ACCEPTANCE_BINS)
    room = min(width(), _WIDEST) - 24
    yield "ACCEPTANCE  REPLIES"
    for number, n in enumerate(counts):
        low, high = (100 * place // ACCEPTANCE_BINS for place in (number, number + 1))
        chart = bar(n / max(counts), room, ascii_only=_ascii_only())
        yield f"{low:3} to {high:3} %  {n:6,}  {chart}".rstrip()


def _day_lines(overview: Overview) -> Iterator[str]:
    days = overview.days()[-_DAYS_N:]
    if len(days) < 2:
        return
    yield ""
    yield f"The last {len(days)} days with replies, {days[0][0]} to {days[-1][0]}"
    acceptances = [day.acceptance for _, day in days]
    speedups = [day.speedup for _, day in days]
    most = max((value for value in speedups if value is not None), default=0.0)
    yield _trend("acceptance", acceptances, 1.0, percent)
    yield _trend("speed-up", speedups, most, times)


def _trend(name: str, values: Sequence[float | None], most: float, written: Callable[[float | None], str]) -> str:
    chart = heights(values, 0, most, ascii_only=_ascii_only())
    return f"{name:10}  {chart}  last {written(values[-1])}"


def group_lines(overview: Overview) -> Iterator[str]:
    """A line for each group."""
    yield paragraph(_basis(overview))
    yield ""
    yield from (line.rstrip() for line in fitted(_columns(overview.by or ""), overview.groups()))
    yield ""
    yield paragraph(
        "ACCEPT and LENGTH (tokens a round) are of all rounds together; SPEED-UP is the median of replies; "
        "TTFT is the time to the first token. `--json` has all quantiles of every group."
    )


_Group = tuple[str, Digest]


def _quantile(measure: str, share: float, written: Callable[[float | None], str]) -> Callable[[_Group], str]:
    return lambda group: written(group[1].measures[measure].quantile(share))


def _columns(by: str) -> list[Column]:
    return [
        Column(by.upper(), lambda group: group[0]),
        Column("REPLIES", lambda group: f"{group[1].replies_n:>7,}"),
        Column("ACCEPT", lambda group: f"{percent(group[1].acceptance):>6}"),
        Column("", lambda group: bar(group[1].acceptance or 0.0, 8, ascii_only=_ascii_only()).ljust(8)),
        Column("LENGTH", lambda group: f"{length(group[1].mean_acceptance_length):>6}"),
        Column("SPEED-UP", lambda group: f"{_quantile('speedup_vs_plain', 0.5, times)(group):>8}"),
        Column("TTFT P95", lambda group: f"{_quantile('ttft_s', 0.95, seconds)(group):>8}"),
        Column("TOKENS/S P50", lambda group: f"{_quantile('tokens_per_second', 0.5, speed)(group):>12}", optional=True),
        Column("VERIFY", lambda group: f"{_quantile('verify_share', 0.5, percent)(group):>6}", optional=True),
        Column("IGNORED", lambda group: f"{group[1].ignored_n:>7,}", optional=True),
        Column("TTFT P99", lambda group: f"{_quantile('ttft_s', 0.99, seconds)(group):>8}", optional=True),
    ]


def watch_lines(
    notices: Sequence[Notice], misses: Sequence[Miss], objectives: Objectives, replies_n: int
) -> Iterator[str]:
    """When a pair became worse, and which objectives were missed on which days."""
    replies = "1 reply" if replies_n == 1 else f"{replies_n:,} replies"
    if not notices:
        yield paragraph(f"No pair has become worse, as far as {replies} tell.")
    for notice in notices:
        yield paragraph(f"{notice.at.astimezone():%Y-%m-%d %H:%M}  {notice.text}")
    yield ""
    if not objectives.any:
        yield paragraph(
            "No objectives are set. --ttft-p95-s and --min-speedup set them once, "
            "the settings ttft_p95_s and min_speedup for good."
        )
    elif not misses:
        yield "Every objective was met on every day."
    else:
        yield f"Objectives were missed on {len({miss.day for miss in misses})} days."
        heads = ("DAY", "OBJECTIVE", "WANTED", "WAS", "REPLIES", "PAIR")
        yield from columns([heads, *map(_miss_row, misses)])


def _miss_row(miss: Miss) -> tuple[str, ...]:
    name, sign, written = _OBJECTIVES[miss.objective]
    wanted = f"{sign} {written(miss.wanted)}"
    return miss.day, name, wanted, written(miss.was), str(miss.replies_n), miss.pair


_OBJECTIVES: dict[str, tuple[str, str, Callable[[float], str]]] = {
    "ttft_p95_s": ("p95 of time to first token", "at most", seconds),
    "min_speedup": ("median speed-up", "at least", times),
}


def nothing(*, narrowed: bool) -> str:
    """What to do where there is nothing to show."""
    if narrowed:
        return paragraph("No reply that counts is on record. Without --pair and --since all of them count.")
    return paragraph(
        "There are no figures yet. `localspec` opens the chat; each of its replies is kept with its figures, unless "
        "the setting record_figures is no."
    )


def _ascii_only() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
