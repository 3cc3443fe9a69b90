"""The chain of llama.cpp's samplers, held against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.dist import Dist
from localspec.engine.sampling import Greedy
from localspec.engine.settings import Sampling
from tests.fakes import Softmax


def keep_all(temperature: float = 1.0) -> Sampling:
    return Sampling(temperature=temperature, top_k=0, top_p=1.0, min_p=0.0)


class TestSampler:
    """llama.cpp's chain, held against the definitions of its samplers."""

    @pytest.fixture
    def row(self) -> Any:
        return np.random.default_rng(3).normal(0, 3, 500).astype(np.float32)

    def same(self, a: Dist, b: Dist) -> bool:
        return np.array_equal(a.ids, b.ids) and np.allclose(a.probs, b.probs, rtol=1e-5)

    def test_greedy_needs_no_chain(self) -> None:
        assert isinstance(make_sampler(Sampling(temperature=0.0), 500), Greedy)

    @pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
    def test_without_filters_it_is_softmax(self, row: Any, temperature: float) -> None:
        assert self.same(make_sampler(keep_all(temperature), 500).dist(row), Softmax(temperature).dist(row))

    def test_top_k_keeps_the_k_most_likely(self, row: Any) -> None:
        dist = make_sampler(Sampling(temperature=1.0, top_k=7, top_p=1.0, min_p=0.0), 500).dist(row)
        assert set(dist.ids) == set(np.argsort(-row)[:7])

    def test_top_p_keeps_the_smallest_set_with_enough_probability(self, row: Any) -> None:
        """And does so before the temperature, as llama.cpp's order has it."""
        dist = make_sampler(Sampling(temperature=5.0, top_k=0, top_p=0.7, min_p=0.0), 500).dist(row)
        plain = Softmax().dist(row)
        likely = np.sort(plain.probs)[::-1].cumsum()
        assert len(dist.ids) == int(np.searchsorted(likely, 0.7)) + 1
        assert set(dist.ids) == set(np.argsort(-row)[: len(dist.ids)])

    def test_min_p_drops_what_is_much_less_likely_than_the_best(self, row: Any) -> None:
        dist = make_sampler(Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=0.1), 500).dist(row)
        plain = Softmax().dist(row)
        assert set(dist.ids) == set(plain.ids[plain.probs >= 0.1 * plain.probs.max()])

    def test_equal_rows_give_equal_distributions(self, row: Any) -> None:
        """Bit for bit, whatever was sampled in between: p / q of a perfect draft is exactly 1."""
        sampler = make_sampler(Sampling(), 500)
        first = sampler.dist(row)
        sampler.dist(row[::-1].copy())
        second = sampler.fork().dist(row.copy())
        assert np.array_equal(first.ids, second.ids)
        assert np.array_equal(first.probs, second.probs)

    def test_a_shorter_row_is_a_distribution_over_fewer_tokens(self, row: Any) -> None:
        """A draft may lack the padding at the end of the target's vocabulary."""
        assert self.same(make_sampler(keep_all(), 500).dist(row[:300]), Softmax().dist(row[:300]))

    def test_a_long_prompt_is_accepted_in_time_that_grows_with_it(self, row: Any) -> None:
        """A penalty on the whole context: time that grows with its square would take longer than a test may."""
        prompt = [token % 250 for token in range(100_000)]
        sampling = Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, presence_penalty=1.0, repeat_last_n=2**20)
        moved = row - np.isin(np.arange(500), prompt).astype(np.float32)
        assert self.same(make_sampler(sampling, 500, prompt=prompt).dist(row), Softmax().dist(moved))
