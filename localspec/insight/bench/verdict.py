"""The verdict on a pair: a sentence and a recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log
from statistics import fmean

from localspec.insight.bench.summary import ALL, Cell
from localspec.insight.bench.trials import PLAIN
from localspec.runtime.figures import times

EQUAL = 0.03
"""The relative difference below which speeds count as equal."""
_MANY = 4
"""The largest number of subjects that are listed one by one."""


class Judgement(StrEnum):
    """The effect of speculation in a cell, or for a pair."""

    PAYS = "pays"
    COSTS = "costs"
    EQUAL = "equal"
    MIXED = "mixed"
    """It pays on some subjects and costs on others; only for a pair."""
    OPEN = "open"
    """The spread is too large to decide."""


@dataclass(frozen=True, slots=True)
class BenchVerdict:
    """The recommendation for a pair."""

    judgement: Judgement
    sentence: str
    way: str | None
    """The best condition; None without figures."""
    use: bool | None
    """True if it is recommended; None if the figures do not decide."""


def judge(cell: Cell) -> Judgement:
    """Judge a cell by its interval alone."""
    if cell.interval is None:
        return Judgement.OPEN
    low, high = cell.interval.low, cell.interval.high
    if low >= 1 - EQUAL and high <= 1 + EQUAL:
        return Judgement.EQUAL
    if low > 1:
        return Judgement.PAYS
    return Judgement.COSTS if high < 1 else Judgement.OPEN


def verdict(cells: Sequence[Cell]) -> BenchVerdict:
    """The verdict on the condition with the greatest speed-up over all subjects and temperatures."""
    wholes = [cell for cell in cells if cell.subject == ALL]
    if not wholes:
        return BenchVerdict(
            Judgement.OPEN, "No verdict: nothing was measured both plain and with speculation.", None, None
        )
    way = max(dict.fromkeys(cell.way for cell in wholes), key=lambda name: _mean(wholes, name))
    named = f" with {way}" if len({cell.way for cell in wholes}) > 1 else ""
    parts = [cell for cell in cells if cell.way == way and cell.subject != ALL]
    wholes = [cell for cell in wholes if cell.way == way]
    by = {each: [cell for cell in parts if judge(cell) is each] for each in Judgement}
    pays, costs = by[Judgement.PAYS], by[Judgement.COSTS]
    if pays and costs:
        return _mixed(pays, costs, wholes, way, named)
    if pays:
        rest = by[Judgement.EQUAL] + by[Judgement.OPEN]
        end = f"; no certain difference on {', '.join(_by_name(rest, wholes))}" if rest else ""
        return BenchVerdict(Judgement.PAYS, f"Use it{named}: {_listed(pays, wholes)}{end}.", way, True)
    if costs:
        return BenchVerdict(Judgement.COSTS, f"Leave it off: {_listed(costs, wholes)}.", way, False)
    return _of_wholes(wholes, way, named)


def _mixed(pays: Sequence[Cell], costs: Sequence[Cell], wholes: Sequence[Cell], way: str, named: str) -> BenchVerdict:
    """The verdict where it pays and costs; the effect over all subjects comes first."""
    if _mean(wholes, way) >= 1:
        off = _listed(costs, wholes, subject_first=True)
        return BenchVerdict(
            Judgement.MIXED, f"Use it{named}: {_listed(pays, wholes)}; leave it off for {off}.", way, True
        )
    but = _listed(pays, wholes, subject_first=True)
    return BenchVerdict(
        Judgement.MIXED, f"Leave it off, but for {but}: elsewhere it costs, {_listed(costs, wholes)}.", way, False
    )


def _of_wholes(wholes: Sequence[Cell], way: str, named: str) -> BenchVerdict:
    """The verdict where no single subject is certain."""
    kinds = {judge(cell) for cell in wholes}
    spread = " and ".join(_spread(cell, len(wholes) > 1) for cell in wholes)
    if kinds == {Judgement.PAYS}:
        sentence = f"Use it{named}: {spread} over all subjects, though none is certain by itself."
        return BenchVerdict(Judgement.PAYS, sentence, way, True)
    if kinds == {Judgement.COSTS}:
        return BenchVerdict(Judgement.COSTS, f"Leave it off: {spread} over all subjects.", way, False)
    if kinds == {Judgement.EQUAL}:
        return BenchVerdict(Judgement.EQUAL, f"It makes no difference{named}: {spread}.", way, False)
    if any(cell.interval is None for cell in wholes):
        fewest = min(cell.n for cell in wholes)
        few = "1 comparison is" if fewest == 1 else f"{fewest} comparisons are"
        sentence = f"No verdict: {few} too few; measure with more --repeats or --minutes."
        return BenchVerdict(Judgement.OPEN, sentence, way, None)
    sentence = f"No verdict: {spread}, which may be a gain or a loss; measure with more --repeats on a quiet machine."
    return BenchVerdict(Judgement.OPEN, sentence, way, None)


def recommended(found: BenchVerdict) -> str | None:
    """The recommended condition: that of the verdict, plain decoding, or None if nothing is certain."""
    if found.use is None:
        return None
    return found.way if found.use else PLAIN


def _mean(wholes: Sequence[Cell], way: str) -> float:
    """The geometric mean over temperatures."""
    return exp(fmean(log(cell.speedup) for cell in wholes if cell.way == way))


def _spread(cell: Cell, several: bool) -> str:
    at = f" at temperature {cell.temperature:g}" if several else ""
    if cell.interval is None:
        return f"{times(cell.speedup)}{at}"
    return f"{times(cell.interval.low)} to {times(cell.interval.high)}{at}"


def _listed(cells: Sequence[Cell], wholes: Sequence[Cell], *, subject_first: bool = False) -> str:
    """Speed-ups by subject in words, with the temperature where it matters; a range if there are many."""
    entries = sorted(_by_name(cells, wholes).items(), key=lambda entry: -entry[1])
    if len(entries) > _MANY:
        low, high = times(entries[-1][1]), times(entries[0][1])
        names = ", ".join(name for name, _ in entries)
        return f"{names} ({low} to {high})" if subject_first else f"{low} to {high} on {names}"
    return ", ".join(
        f"{name} ({times(speedup)})" if subject_first else f"{times(speedup)} on {name}" for name, speedup in entries
    )


def _by_name(cells: Sequence[Cell], wholes: Sequence[Cell]) -> dict[str, float]:
    """Speed-ups by "code", where all temperatures agree, or by "code at temperature 1"."""
    measured = len({cell.temperature for cell in wholes})
    found: dict[str, float] = {}
    for subject in dict.fromkeys(cell.subject for cell in cells):
        own = [cell for cell in cells if cell.subject == subject]
        if len(own) == measured:
            found[subject] = exp(fmean(log(cell.speedup) for cell in own))
        else:
            found |= {f"{subject} at temperature {cell.temperature:g}": cell.speedup for cell in own}
    return found
