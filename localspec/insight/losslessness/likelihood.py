"""The likelihood of replies made with and without speculation, as the target itself scores them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from localspec.base.significance import fewest_strata_p_value, shift, shift_p_value
from localspec.engine.model import Logits
from localspec.engine.settings import Sampling
from localspec.insight.losslessness.check import Check, CheckOutcome
from localspec.insight.losslessness.round_audit import RoundAudit
from localspec.insight.losslessness.subject import PLAIN, Asked, ScorablePair, Speculation, ask
from localspec.insight.prompt_sets import BenchPrompt

_SCORING_WIDTH = 8
_FIRST_SEED = 700_000_000
"""Far from the seeds of the two-sample test."""


@dataclass(slots=True)
class LikelihoodTest:
    """Scores whole sampled replies of both kinds under the target."""

    pair: ScorablePair
    speculation: Speculation
    sampling: Sampling
    tokens: int
    false_alarm: float
    seed: int
    audit: RoundAudit
    _strata: list[tuple[list[float], list[float]]] = field(default_factory=list)

    def check(self, prompts: Sequence[BenchPrompt], replies_n: int) -> Iterator[Check | None]:
        """None after each reply of either kind, then the result. Raises Cancelled."""
        for number, prompt in enumerate(prompts):
            both: tuple[list[float], list[float]] = ([], [])
            for i in range(replies_n):
                for arm, speculation in enumerate((PLAIN, self.speculation)):
                    seed = (_FIRST_SEED + self.seed + 2 * (number * replies_n + i) + arm) % 2**32
                    both[arm].append(self._mean(prompt.messages, speculation, seed))
                yield None
            self._strata.append(both)
        yield self._result()

    def _mean(self, prompt: Asked, speculation: Speculation, seed: int) -> float:
        """The mean log-probability of a reply's tokens, as the target gives it before any sampler."""
        answer = ask(self.pair, prompt, speculation.options(self.sampling, seed, self.tokens))
        if speculation is not PLAIN:
            self.audit.enter(answer)
        rows = self.pair.scores(prompt, answer.ids, _SCORING_WIDTH)
        return fmean(log_probability(row, token) for row, token in zip(rows, answer.ids, strict=True))

    def _result(self) -> Check:
        plain, fast = (fmean(value for both in self._strata for value in both[arm]) for arm in (0, 1))
        n = sum(len(both[0]) for both in self._strata)
        p_value = shift_p_value(self._strata, self.seed)
        figures = {
            "replies_n": n,
            "plain_mean_log_probability": plain,
            "speculative_mean_log_probability": fast,
            "shift": shift(self._strata),
            "p_value": p_value,
            "false_alarm": self.false_alarm,
        }
        scores = f"{plain:.3f} nats a token plain, {fast:.3f} speculative, over {n} + {n} replies (p = {p_value:.3g})"
        if p_value <= self.false_alarm:
            text = f"The target finds replies made with speculation more or less likely than its own: {scores}."
            return Check("likelihood", CheckOutcome.FAIL, text, (), figures)
        if fewest_strata_p_value(self._strata) > self.false_alarm:
            text = f"Too few replies to judge their likelihood: {scores}."
            return Check("likelihood", CheckOutcome.OPEN, text, (), figures)
        return Check(
            "likelihood", CheckOutcome.PASS, f"The target finds both kinds equally likely: {scores}.", (), figures
        )


def log_probability(row: Logits, token: int) -> float:
    """The log probability of ``token`` under the softmax of ``row``, in nats."""
    scores = row.astype(np.float64)
    most = scores.max()
    return float(scores[token] - most - np.log(np.exp(scores - most).sum()))
