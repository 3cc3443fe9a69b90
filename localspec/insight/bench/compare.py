"""The comparison of two runs of the benchmark, with a significance test.

A change counts if a permutation test of old and new replies to the same prompts gives a p-value below 5 %, divided by
the number of comparisons, and if it is more than 5 % of the speed.
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
"""The smallest relative change that counts."""


class BenchChange(StrEnum):
    """The outcome of comparing a speed."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "no change"
    OPEN = "too few"
    """There are too few replies for any difference to be significant."""


@dataclass(frozen=True, slots=True)
class BenchComparison:
    """One speed, before and now."""

    pair: str
    way: str
    temperature: float
    subject: str
    ratio: float
    """The new speed over the old."""
    p_value: float
    change: BenchChange
    n: int
    """The number of new replies."""


def compare(old: BenchResult, new: BenchResult) -> list[BenchComparison]:
    """Compare every condition and subject of both runs; plain decoding is included, which shows a slower machine."""
    groups = []
    for pair in new.pairs:
        before = next((each for each in old.pairs if each.pair == pair.pair), None)
        if before is not None:
            groups += [(pair.pair, *key, strata) for key, strata in _groups(before.samples, pair.samples)]
    level = LEVEL / max(1, len(groups))
    return [_judged(*group, level) for group in groups]


def losses(found: Sequence[BenchComparison]) -> list[BenchComparison]:
    """The comparisons that show a loss of speed."""
    return [each for each in found if each.change is BenchChange.SLOWER]


def unlike(old: BenchResult, new: BenchResult) -> list[str]:
    """Differences of settings and devices between two runs, as clauses."""
    before_n, now_n = old.settings.get("tokens"), new.settings.get("tokens")
    found = [f"tokens were {before_n}, now {now_n}"] if before_n != now_n else []
    for pair in new.pairs:
        before = next((each for each in old.pairs if each.pair == pair.pair), None)
        if before and before.facts.get("device") != pair.facts.get("device"):
            found.append(f"{pair.pair} was measured on {before.facts.get('device')}, now on {pair.facts.get('device')}")
    return found


_Key = tuple[str, float, str]


def _groups(old: Sequence[Sample], new: Sequence[Sample]) -> list[tuple[_Key, list[Stratum]]]:
    """Logarithms of speeds before and after, a stratum for each prompt, by (way, temperature, subject)."""
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
) -> BenchComparison:
    ratio, p_value = exp(shift(strata)), shift_p_value(strata, seed=0)
    if fewest_strata_p_value(strata) > level:
        change = BenchChange.OPEN
    elif p_value > level or abs(ratio - 1) <= LEAST:
        change = BenchChange.SAME
    else:
        change = BenchChange.SLOWER if ratio < 1 else BenchChange.FASTER
    return BenchComparison(pair, way, temperature, subject, ratio, p_value, change, sum(len(now) for _, now in strata))
