"""What has changed since an earlier run, by a rule that looks at the spread.

A change counts if permuting old and new replies to the same prompts gives one as large with a probability below
5 %, shared among all comparisons, and if it is more than 5 % of the speed. The exit code says whether any is a loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log

from localspec.base.significance import Stratum, fewest_strata_p_value, shift, shift_p_value
from localspec.insight.bench.result import BenchResult
from localspec.insight.bench.sample import Sample
from localspec.insight.bench.summary import ALL

LEVEL = 0.05
LEAST = 0.05
"""Smaller changes are not worth a word."""


class BenchChange(StrEnum):
    """What became of a speed."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "no change"
    OPEN = "too few"
    """No difference whatever could count with so few replies."""


@dataclass(frozen=True, slots=True)
class BenchComparison:
    """One speed, then and now."""

    pair: str
    way: str
    temperature: float
    subject: str
    ratio: float
    """New speed by old."""
    p_value: float
    change: BenchChange
    n: int
    """Replies now."""


def compare(old: BenchResult, new: BenchResult, seed: int = 0) -> list[BenchComparison]:
    """Every way and subject both runs have; plain decoding too, which tells a slower machine from a worse draft."""
    groups = []
    for pair in new.pairs:
        before = next((each for each in old.pairs if each.pair == pair.pair), None)
        if before is not None:
            groups += [(pair.pair, *key, strata) for key, strata in _groups(before.samples, pair.samples)]
    level = LEVEL / max(1, len(groups))
    return [_judged(*group, level, seed) for group in groups]


def losses(found: Sequence[BenchComparison]) -> list[BenchComparison]:
    """Those that fail the comparison."""
    return [each for each in found if each.change is BenchChange.SLOWER]


def unlike(old: BenchResult, new: BenchResult) -> list[str]:
    """What else than time lies between two runs, as clauses."""
    found = [
        f"{name} were {old.settings.get(name)}, now {new.settings.get(name)}"
        for name in ("tokens",)
        if old.settings.get(name) != new.settings.get(name)
    ]
    for pair in new.pairs:
        before = next((each for each in old.pairs if each.pair == pair.pair), None)
        if before and before.facts.get("device") != pair.facts.get("device"):
            found.append(f"{pair.pair} was measured on {before.facts.get('device')}, now on {pair.facts.get('device')}")
    return found


_Key = tuple[str, float, str]


def _groups(old: Sequence[Sample], new: Sequence[Sample]) -> list[tuple[_Key, list[Stratum]]]:
    """Log-speeds before and after, a stratum for each prompt, by (way, temperature, subject)."""
    keys = sorted({(each.way, each.temperature, each.subject) for each in new})
    ways = sorted({(each.way, each.temperature) for each in new})
    keys += [(way, temperature, ALL) for way, temperature in ways]
    found = []
    for way, temperature, subject in keys:
        strata: list[Stratum] = []
        chosen = [each for each in new if (each.way, each.temperature) == (way, temperature)]
        for prompt in dict.fromkeys(each.prompt for each in chosen if subject in (ALL, each.subject)):
            after = [log(each.predicted_per_second) for each in chosen if each.prompt == prompt]
            before = [
                log(each.predicted_per_second)
                for each in old
                if (each.way, each.temperature, each.prompt) == (way, temperature, prompt)
            ]
            if before:
                strata.append((before, after))
        if strata:
            found.append(((way, temperature, subject), strata))
    return found


def _judged(
    pair: str,
    way: str,
    temperature: float,
    subject: str,
    strata: Sequence[Stratum],
    level: float,
    seed: int,
) -> BenchComparison:
    ratio, p_value = exp(shift(strata)), shift_p_value(strata, seed)
    if fewest_strata_p_value(strata) > level:
        change = BenchChange.OPEN
    elif p_value > level or abs(ratio - 1) <= LEAST:
        change = BenchChange.SAME
    else:
        change = BenchChange.SLOWER if ratio < 1 else BenchChange.FASTER
    return BenchComparison(pair, way, temperature, subject, ratio, p_value, change, sum(len(now) for _, now in strata))
