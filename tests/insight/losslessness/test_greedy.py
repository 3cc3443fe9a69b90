"""When two greedy replies count as the same: by tables of what each says and how the target scores it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from localspec.engine.events import Event, Finished, FinishReason, Origin, Proposal, Round, Token
from localspec.engine.model import Logits
from localspec.engine.settings import Sampling
from localspec.engine.tally import Tally
from localspec.insight.losslessness.check import Check, CheckOutcome
from localspec.insight.losslessness.greedy import GreedyTest
from localspec.insight.losslessness.likelihood import LikelihoodTest
from localspec.insight.losslessness.round_audit import RoundAudit
from localspec.insight.losslessness.sampled import SampledTest
from localspec.insight.losslessness.subject import Asked, Speculation
from localspec.insight.prompt_sets import BenchPrompt
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from localspec.runtime.pair_info import PairInfo
from tests.cli.support import info_of

PLAIN_TOKEN, OTHER_TOKEN = 2, 3
PROMPTS = tuple(BenchPrompt(f"own-{i}", "own", (Message(Role.USER, "abc"[: i + 1]),)) for i in range(3))
FAST = Speculation(None, 3)


def told(tokens: Sequence[int]) -> Iterator[Event]:
    for index, token in enumerate(tokens):
        spoken = (Token(token, chr(97 + token), Origin.PLAIN, None),)
        yield Round(index, "draft", 3, spoken, (Proposal(9, "no", "draft"),), (), 0.0, 0.0, 0.0, "")
    yield Finished(FinishReason.LENGTH, "", Tally().timings())


@dataclass(slots=True)
class ToldPair:
    """Says what it is told to, and scores by ``gap`` how much more it likes plain decoding's token; in a batch by
    ``noise`` more."""

    plain: Sequence[int] = (1, PLAIN_TOKEN)
    fast: Sequence[int] = (1, PLAIN_TOKEN)
    gap: float = 1.0
    noise: float = 0.0
    asked: list[ReplyOptions] = field(default_factory=list)

    @property
    def info(self) -> PairInfo:
        return info_of(LoadOptions(None, None))  # type: ignore[arg-type]  # no file is looked at

    def reply(self, prompt: Asked, options: ReplyOptions) -> Iterator[Event]:
        self.asked.append(options)
        return told(self.plain if options.spec == () else self.fast)

    def scores(self, prompt: Asked, reply: Sequence[int], width: int) -> Iterator[Logits]:
        for _ in reply:
            row = np.full(6, -20.0)
            row[OTHER_TOKEN], row[PLAIN_TOKEN] = 0.0, self.gap + self.noise * (width > 1)
            yield row


def greedy(pair: ToldPair) -> Check:
    *_, check = GreedyTest(pair, FAST, 4, RoundAudit()).check(PROMPTS[:1])
    assert check is not None
    return check


@pytest.mark.parametrize(
    ("gap", "noise", "near"),
    [
        (0.0, 0.0, True),  # the same score
        (0.01, 0.0, False),  # scores do not move, so nothing explains another token
        (0.19, 0.1, True),  # within twice what batches move
        (0.21, 0.1, False),
        (0.49, 0.4, True),
        (0.51, 0.4, False),  # too far apart, whatever batches move
        (-0.01, 0.1, False),  # plain decoding would have taken the other: it is plain decoding that is wrong
        (-0.4, 0.4, False),
    ],
)
def test_another_token_is_excused_only_by_scores_as_close_as_batches_move_them(
    gap: float, noise: float, near: bool
) -> None:
    """From an equal score to twice the noise, and to 0.5 at most."""
    check = greedy(ToldPair(fast=(1, OTHER_TOKEN), gap=gap, noise=noise))
    assert check.outcome is (CheckOutcome.PASS if near else CheckOutcome.FAIL)
    (difference,) = check.figures["differences"]
    assert difference["near_tie"] == near
    assert difference["gap"] == pytest.approx(gap, abs=1e-6)


@pytest.mark.parametrize("other", [(1,), (1, PLAIN_TOKEN, PLAIN_TOKEN), ()])
def test_a_reply_that_only_ends_elsewhere_is_another(other: Sequence[int]) -> None:
    """Though every token that both have is the same; no gap excuses it."""
    for pair in (ToldPair(fast=other, noise=0.1), ToldPair(plain=other, fast=(1, PLAIN_TOKEN), noise=0.1)):
        check = greedy(pair)
        assert check.outcome is CheckOutcome.FAIL
        assert "one reply ends there" in check.details[0]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_two_replies_that_count_are_drawn_with_one_seed(seed: int) -> None:
    """Over both ways and all prompts, nor with one of the looks before: what two owe to a seed is no evidence."""
    pair = ToldPair()
    drawn = Sampling(temperature=1.0)
    for _ in SampledTest(pair, FAST, drawn, 2, 0.01, seed, RoundAudit()).check(PROMPTS, 2, 20):
        pass
    for _ in LikelihoodTest(pair, FAST, drawn, 2, 0.01, seed, RoundAudit()).check(PROMPTS, 20):
        pass
    looks, counted = pair.asked[: 3 * 16], pair.asked[3 * 16 :]
    assert [options.spec for options in looks] == [()] * 3 * 16
    assert [options.spec for options in counted] == [(), None] * (2 + 3) * 20
    seeds = {options.seed for options in counted}
    assert len(seeds) == len(counted)
    assert seeds.isdisjoint(options.seed for options in looks)
