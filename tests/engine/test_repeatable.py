"""A seed that belongs to places of the text: the same words whatever is drafted, each drawn by the target's own law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import Dist, RepeatableRng
from localspec.engine.drafter import Drafter
from localspec.engine.drafters.draft import DraftModel
from localspec.engine.drafters.suffix import SuffixDrafter
from localspec.engine.events import Round
from localspec.engine.loop import Request, generate
from tests.fakes import Softmax, TableModel, letters

VOCAB = letters(12, frozenset({11}))


def text(seed: int, depth: int, drafters: list[Drafter]) -> list[int]:
    request = Request([1, 2, 3], Softmax(), RepeatableRng(seed), FixedDepth(depth), max_tokens=40)
    events = generate(TableModel(VOCAB, seed=7), drafters, request, Cancellation())
    return [token.id for event in events if isinstance(event, Round) for token in event.tokens]


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(-1, 2**64), depth=st.integers(1, 7), good=st.booleans())
def test_the_text_of_a_seed_does_not_depend_on_drafts(seed: int, depth: int, good: bool) -> None:
    drafters: list[Drafter] = [SuffixDrafter(), DraftModel(TableModel(VOCAB, seed=7 if good else 8))]
    assert text(seed, depth, drafters) == text(seed, 0, [])


def test_a_draft_like_the_target_is_always_accepted() -> None:
    request = Request([1, 2, 3], Softmax(), RepeatableRng(5), FixedDepth(4), max_tokens=40, stop=())
    events = generate(TableModel(VOCAB, seed=7), [DraftModel(TableModel(VOCAB, seed=7))], request, Cancellation())
    assert not any(event.rejected for event in events if isinstance(event, Round))


def test_a_draw_has_the_law_of_its_distribution_at_every_place() -> None:
    """And two places that follow each other, or two seeds, tell nothing of one another."""
    probs = np.array([0.4, 0.3, 0.2, 0.1])
    dist = Dist.of(np.array([3, 17, 4_000, 151_935]), probs)
    numbers = {token: number for number, token in enumerate(dist.ids.tolist())}
    pairs = np.zeros((4, 4))
    seeds = np.zeros((4, 4))
    for seed in range(6_000):
        rng = RepeatableRng(seed)
        rng.begin(seed % 50)
        first, second = numbers[rng.draw(dist)], numbers[rng.draw(dist)]
        pairs[first, second] += 1
        other = RepeatableRng(seed + 1)
        other.begin(seed % 50)
        seeds[first, numbers[other.draw(dist)]] += 1
    assert chisquare(pairs.sum(axis=1), probs * pairs.sum()).pvalue > 1e-3
    assert chi2_contingency(pairs).pvalue > 1e-3
    assert chi2_contingency(seeds).pvalue > 1e-3


@pytest.mark.parametrize("next_to_none", [0.0, 5e-324])
def test_tokens_without_a_chance_are_never_drawn(next_to_none: float) -> None:
    """Nor those with the least that a number can say, and nothing is warned of (tests fail over warnings)."""
    rng = RepeatableRng(1)
    dist = Dist(np.array([1, 2, 3]), np.array([next_to_none, 1.0, next_to_none]))
    assert {rng.draw(dist) for _ in range(50)} == {2}
