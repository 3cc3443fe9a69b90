"""Greedy replies with and without speculation: the same tokens, but for near-ties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest

import numpy as np

from localspec.base.errors import CapacityError
from localspec.engine.settings import Sampling
from localspec.insight.losslessness.check import Check, CheckOutcome
from localspec.insight.losslessness.round_audit import RoundAudit
from localspec.insight.losslessness.subject import PLAIN, Answer, Asked, ScorablePair, Speculation, ask
from localspec.insight.prompt_sets import BenchPrompt

LARGEST_NEAR_TIE = 0.5
"""Two scores further apart than this never count as a near-tie, however much batches change them here."""
WORST_NOISE = 1.0
"""No batch may change the distance of two scores by more; rows that do not belong to their tokens do."""
_NOISE_REPLIES_N = 3
"""Replies by which it is measured what a batch does to scores."""
_NOISE_FACTOR = 2.0


@dataclass(frozen=True, slots=True)
class Difference:
    """The place where two replies part."""

    prompt: str
    at: int
    """Equal tokens before it."""
    plain: str
    speculative: str
    gap: float | None
    """The lead in score of plain decoding's token; None if one reply just ends."""
    near_tie: bool = False

    def describe(self) -> str:
        kind = "near-tie" if self.near_tie else "DIFFERENT"
        gap = "one reply ends there" if self.gap is None else f"gap {self.gap:.5f}"
        return f"{kind}: {self.prompt}, token {self.at + 1}: {self.plain!r} plain, {self.speculative!r}, {gap}"


@dataclass(slots=True)
class GreedyTest:
    """Compares replies to prompts, one after the other."""

    pair: ScorablePair
    speculation: Speculation
    tokens: int
    audit: RoundAudit

    def check(self, prompts: Sequence[BenchPrompt]) -> Iterator[Check | None]:
        """None before each prompt, then the result. Raises Cancelled."""
        differences: list[Difference] = []
        noise = 0.0
        tokens_n = proposed_n = asked_n = 0
        for prompt in prompts:
            yield None
            try:
                plain, fast = (self._ask(prompt.messages, speculation) for speculation in (PLAIN, self.speculation))
            except CapacityError:
                continue  # a prompt longer than the context says nothing about speculation
            self.audit.enter(fast)
            asked_n += 1
            tokens_n += len(plain.ids)
            proposed_n += fast.proposed_n
            if asked_n <= _NOISE_REPLIES_N:
                noise = max(noise, self._noise(prompt.messages, plain.ids))
            if found := self._difference(prompt, plain, fast):
                differences.append(found)
        tie = min(_NOISE_FACTOR * noise, LARGEST_NEAR_TIE)
        judged = [_judged(difference, tie) for difference in differences]
        yield _result(judged, asked_n, tokens_n, proposed_n, noise)

    def _ask(self, prompt: Asked, speculation: Speculation) -> Answer:
        return ask(self.pair, prompt, speculation.options(Sampling(temperature=0), 0, self.tokens))

    def _noise(self, prompt: Asked, reply: Sequence[int]) -> float:
        """The most by which the distance of the two best scores changes with the number of tokens in a batch."""
        width = (self.speculation.depth or 3) + 1
        # Copies: the next call may write over what the last one gave.
        alone = [row.copy() for row in self.pair.scores(prompt, reply, 1)]
        most = 0.0
        for one, row in zip(alone, self.pair.scores(prompt, reply, width), strict=True):
            second, best = np.argsort(one)[-2:]
            most = max(most, abs(float((one[best] - one[second]) - (row[best] - row[second]))))
        return most

    def _difference(self, prompt: BenchPrompt, plain: Answer, fast: Answer) -> Difference | None:
        tokens = [token for round_ in plain.rounds for token in round_.tokens]
        others = [token for round_ in fast.rounds for token in round_.tokens]
        for at, (token, other) in enumerate(zip_longest(tokens, others)):
            if token is None or other is None:
                return Difference(prompt.id, at, token.text if token else "", other.text if other else "", None)
            if token.id != other.id:
                *_, row = self.pair.scores(prompt.messages, plain.ids[: at + 1], 1)
                gap = float(row[token.id] - row[other.id])
                return Difference(prompt.id, at, token.text, other.text, gap)
        return None


def _judged(difference: Difference, tie: float) -> Difference:
    near = difference.gap is not None and 0 <= difference.gap <= tie
    return replace(difference, near_tie=near)


def _result(differences: Sequence[Difference], n: int, tokens_n: int, proposed_n: int, noise: float) -> Check:
    real = [difference for difference in differences if not difference.near_tie]
    ties_n = len(differences) - len(real)
    figures = {
        "replies_n": n,
        "tokens_n": tokens_n,
        "draft_n": proposed_n,
        "near_ties_n": ties_n,
        "batch_noise": noise,
        "differences": [asdict(difference) for difference in differences],
    }
    details = tuple(difference.describe() for difference in differences)
    if real:
        text = f"{len(real)} of {n} greedy replies are other texts than plain decoding's, and not by a near-tie."
        return Check("greedy", CheckOutcome.FAIL, text, details, figures)
    if noise > WORST_NOISE:
        text = f"The target scores the same text otherwise in a batch than token by token, by up to {noise:.2f}."
        return Check("greedy", CheckOutcome.FAIL, text, details, figures)
    if not proposed_n or not tokens_n:
        return Check("greedy", CheckOutcome.OPEN, "Nothing was proposed in greedy replies.", details, figures)
    text = f"{n - ties_n} of {n} greedy replies ({tokens_n:,} tokens) are the same, token by token."
    if ties_n:
        text += (
            f" {ties_n} part{'s' if ties_n == 1 else ''} at a near-tie: two tokens score so alike that the shape of a "
            f"batch decides, which alone moves scores by {noise:.4f} here."
        )
    return Check("greedy", CheckOutcome.PASS, text, details, figures)
