"""The page of figures as text: quantiles, the histogram of acceptance, and the days.

It needs no colour and fits any width from 16 columns on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from localspec.insight.stats.charts import bar, heights, shape
from localspec.insight.stats.digest import ACCEPTANCE_BINS, QUANTILES, Digest
from localspec.insight.stats.overview import Overview
from localspec.insight.stats.sketch import Sketch
from localspec.insight.stats.wording import SHOWN, ShownMeasure
from localspec.runtime.figures import MISSING, percent, times

WIDEST = 100
"""The largest width of charts."""
_SHAPE_BINS = 16
_DAYS_N = 60
_CELL = 7
_HEAD = 22
_TREND_HEAD = 10


@dataclass(frozen=True, slots=True)
class Sheet:
    """The format of the page."""

    width: int
    """The width of a line in characters."""
    ascii_only: bool = False


Line = tuple[str, bool]
"""A line, and True if it is a heading."""


def page(overview: Overview, sheet: Sheet) -> Iterator[Line]:
    """The lines of the page, without the sentence of ``wording.basis``."""
    yield from _measures(overview.whole, sheet)
    yield "", False
    yield from _acceptance(overview.whole, sheet)
    yield from _days(overview, sheet)


def _measures(digest: Digest, sheet: Sheet) -> Iterator[Line]:
    full = _HEAD + len(QUANTILES) * (_CELL + 2)
    if sheet.width < full:
        yield from _narrow_measures(digest, sheet)
        return
    with_shape = sheet.width >= full + 2 + _SHAPE_BINS
    heads = "  ".join(f"{_share_head(share):>{_CELL}}" for share in QUANTILES)
    yield f"{'BY REPLY':{_HEAD}}  {heads}" + ("  LEAST TO MOST" if with_shape else ""), True
    for shown in SHOWN:
        sketch = digest.measures[shown.measure]
        cells = [f"{shown.written(sketch.quantile(share)):>{_CELL}}" for share in QUANTILES]
        chart = [_shape(sketch, shown, sheet)] if with_shape else []
        yield "  ".join([f"{shown.head:{_HEAD}}", *cells, *chart]).rstrip(), False


def _narrow_measures(digest: Digest, sheet: Sheet) -> Iterator[Line]:
    """The median and as many quantiles as fit, below the name where they do not fit beside it."""
    beside = sheet.width >= _HEAD + 2 * (_CELL + 2)
    room = sheet.width - _HEAD if beside else sheet.width
    order = (0.5, 0.95, 0.99, 0.05)
    shares = sorted(order[: max(1, min(len(order), room // (_CELL + 2)))])
    heads = "".join(f"{_share_head(share):>{_CELL + 2}}" for share in shares)
    yield f"{'BY REPLY':{_HEAD}}{heads}" if beside else heads[: sheet.width], True
    for shown in SHOWN:
        cells = "".join(
            f"{shown.written(digest.measures[shown.measure].quantile(share)):>{_CELL + 2}}" for share in shares
        )
        if beside:
            yield f"{shown.head:{_HEAD}}{cells}", False
        else:
            yield shown.head[: sheet.width], False
            yield cells, False


def _share_head(share: float) -> str:
    return f"P{share * 100:.0f}"


def _shape(sketch: Sketch, shown: ShownMeasure, sheet: Sheet) -> str:
    if not sketch.n:
        return ""
    low, high = (0.0, 1.0) if shown.is_share else (sketch.least, sketch.most)
    return shape(sketch.histogram(low, high, _SHAPE_BINS), ascii_only=sheet.ascii_only)


def _acceptance(digest: Digest, sheet: Sheet) -> Iterator[Line]:
    sketch = digest.measures["acceptance"]
    if not sketch.n:
        yield "Nothing was proposed, so there is no acceptance.", False
        return
    counts = sketch.histogram(0, 1, ACCEPTANCE_BINS)
    room = min(sheet.width, WIDEST) - 24
    yield ("ACCEPTANCE  REPLIES" if room > 0 else "ACCEPTED REPLIES"), True
    for number, n in enumerate(counts):
        low, high = (100 * place // ACCEPTANCE_BINS for place in (number, number + 1))
        if room > 0:
            chart = bar(n / max(counts), room, ascii_only=sheet.ascii_only)
            yield f"{low:3} to {high:3} %  {n:6,}  {chart}".rstrip(), False
        else:
            yield f"{f'{low}-{high} %':>8}{n:8,}", False


def _days(overview: Overview, sheet: Sheet) -> Iterator[Line]:
    days = overview.days()[-max(2, min(_DAYS_N, sheet.width - _TREND_HEAD - 15)) :]
    if len(days) < 2:
        return
    yield "", False
    with_replies = f"The last {len(days)} days with replies, {days[0][0]} to {days[-1][0]}"
    yield (with_replies if len(with_replies) <= sheet.width else f"{len(days)} days"), True
    acceptances = [day.acceptance for _, day in days]
    speedups = [day.measures["speedup_vs_plain"].quantile(0.5) for _, day in days]
    most = max((value for value in speedups if value is not None), default=0.0)
    yield _trend("acceptance", acceptances, 1.0, percent, sheet), False
    yield _trend("speed-up", speedups, most, times, sheet), False


def _trend(
    name: str, values: Sequence[float | None], most: float, written: Callable[[float | None], str], sheet: Sheet
) -> str:
    chart = heights(values, most, ascii_only=sheet.ascii_only)
    last = MISSING if values[-1] is None else written(values[-1])
    return f"{name:{_TREND_HEAD}}  {chart}  last {last}"
