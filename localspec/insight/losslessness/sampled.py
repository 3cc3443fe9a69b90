"""Sampled replies with and without speculation: openings compared by a two-sample test.

How replies to a prompt begin, their first tokens jointly, is counted over many seeds of either kind; no seed is used
twice. The test permutes, so false alarms come no oftener than stated, and the smallest bias it would notice is
stated with the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from localspec.base.amounts import number_of
from localspec.base.significance import homogeneity_p_value, pooled, smallest_bias
from localspec.engine.settings import Sampling
from localspec.insight.losslessness.check import Check, CheckOutcome
from localspec.insight.losslessness.round_audit import RoundAudit
from localspec.insight.losslessness.subject import PLAIN, Asked, ScorablePair, Speculation, ask
from localspec.insight.prompt_sets import BenchPrompt

POWER = 0.95
_PILOT_N = 16
"""Plain replies by which it is found out how open a prompt is; they do not count in the test."""
Opening = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OpeningTest:
    """The two-sample test of how replies to one prompt begin."""

    prompt: str
    n: int
    """Replies of either kind."""
    outcomes: int
    """Different openings; rare ones count as one."""
    distance: float
    """Total variation between the two samples; some of it is always chance."""
    p_value: float
    smallest_bias: float
    """The total variation that would be noticed with ``POWER``, whatever form it takes."""

    def describe(self, false_alarm: float) -> str:
        word = "DIFFERENT" if self.p_value <= false_alarm else "no difference"
        return (
            f"{word} at {self.prompt}: {self.n} + {self.n} replies, {number_of(self.outcomes, 'opening')}, "
            f"p = {self.p_value:.3g}; a bias of {self.smallest_bias:.2f} would show"
        )


@dataclass(slots=True)
class SampledTest:
    """Draws openings and compares them."""

    pair: ScorablePair
    speculation: Speculation
    sampling: Sampling
    opening_n: int
    """Tokens of an opening."""
    false_alarm: float
    """The chance of failing at one prompt although nothing is wrong."""
    seed: int
    audit: RoundAudit

    def check(self, prompts: Sequence[BenchPrompt], places_n: int, samples_n: int) -> Iterator[Check | None]:
        """None after each prompt looked at and each pair of replies, then the result. Raises Cancelled."""
        openness: dict[str, int] = {}
        if len(prompts) > places_n:
            for prompt in prompts:
                pilots = (self._opening(prompt.messages, PLAIN, -1 - i) for i in range(_PILOT_N))
                openness[prompt.id] = len(set(pilots))
                yield None
        widest = sorted(prompts, key=lambda prompt: -openness.get(prompt.id, 0))[:places_n]
        places = []
        for number, prompt in enumerate(widest):
            counts: tuple[Counter[Opening], Counter[Opening]] = Counter(), Counter()
            for i in range(samples_n):
                for arm, speculation in enumerate((PLAIN, self.speculation)):
                    # Alternately, so that nothing drifts between the two.
                    serial = 2 * (number * samples_n + i) + arm
                    counts[arm][self._opening(prompt.messages, speculation, serial)] += 1
                yield None
            places.append(self._compared(prompt.id, *counts))
        yield self._result(places)

    def _opening(self, prompt: Asked, speculation: Speculation, serial: int) -> Opening:
        seed = (self.seed * 1_000_003 + serial) % 2**32
        answer = ask(self.pair, prompt, speculation.options(self.sampling, seed, self.opening_n))
        if speculation is not PLAIN:
            self.audit.enter(answer)
        return tuple(answer.ids)

    def _compared(self, prompt: str, plain: Counter[Opening], fast: Counter[Opening]) -> OpeningTest:
        openings = sorted(plain | fast)
        table = pooled([plain[each] for each in openings], [fast[each] for each in openings])
        n, outcomes = plain.total(), table.shape[1]
        distance = float(abs(table[0] - table[1]).sum() / 2 / n)
        p_value = homogeneity_p_value(table, self.seed)
        return OpeningTest(prompt, n, outcomes, distance, p_value, smallest_bias(n, outcomes, self.false_alarm, POWER))

    def _result(self, places: Sequence[OpeningTest]) -> Check:
        open_places = [place for place in places if place.outcomes > 1]
        figures = {
            "opening_n": self.opening_n,
            "power": POWER,
            "false_alarm": self.false_alarm,
            "places": [asdict(place) for place in places],
        }
        details = tuple(place.describe(self.false_alarm) for place in places)
        failed = [place for place in places if place.p_value <= self.false_alarm]
        if failed:
            text = (
                f"Sampled replies begin otherwise with speculation than without, at {len(failed)} of {len(places)} "
                f"prompts. By chance alone this happens less than once in {1 / (self.false_alarm * len(places)):.0f} "
                "times."
            )
            return Check("sampled", CheckOutcome.FAIL, text, details, figures)
        if self.sampling.greedy or not open_places:
            why = "at temperature 0 nothing is" if self.sampling.greedy else "hardly anything is"
            text = f"The distribution of sampled replies was not tested: {why} left to chance."
            return Check("sampled", CheckOutcome.OPEN, text, details, figures)
        best = min(place.smallest_bias for place in open_places)
        n, prompts = open_places[0].n, number_of(len(open_places), "prompt")
        text = (
            f"The first {self.opening_n} tokens have the same distribution with and without speculation, as far as "
            f"{n} + {n} replies to each of {prompts} can tell: a bias of {best:.2f} (total variation) or more would "
            f"have shown with {POWER:.0%} probability."
        )
        return Check("sampled", CheckOutcome.PASS, text, details, figures)
