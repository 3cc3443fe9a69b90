"""Likelihoods that proposals are accepted, learned by drafter and kind."""

from __future__ import annotations

import random

import pytest

from localspec.engine.dist import Dist
from localspec.engine.drafter import NextProposal
from localspec.engine.likelihood import Likelihoods


class TestLikelihoods:
    def test_they_converge_to_what_happens(self) -> None:
        likelihoods, proposal = Likelihoods(), NextProposal("d", Dist.point(0), "kind", 0.9)
        chance = random.Random(3)
        for _ in range(400):
            likelihoods.observe([proposal], int(chance.random() < 0.25))
        assert likelihoods.of(proposal) == pytest.approx(0.25, abs=0.08)

    def test_what_comes_after_the_first_refusal_was_never_judged(self) -> None:
        likelihoods = Likelihoods()
        seen, unseen = (NextProposal("d", Dist.point(0), kind, 0.5) for kind in ("seen", "unseen"))
        before = likelihoods.of(seen)
        likelihoods.observe([seen, seen, unseen], 1)
        judged = Likelihoods()
        judged.observe([seen, seen], 1)
        assert likelihoods == judged
        assert likelihoods.of(seen) == pytest.approx(before, abs=0.03)

    @pytest.mark.parametrize(("prior", "least", "most"), [(0.0, 0.001, 0.01), (1.0, 0.97, 0.999)])
    def test_nothing_is_certain(self, prior: float, least: float, most: float) -> None:
        """However sure the drafter is, and however often it was right."""
        likelihoods, proposal = Likelihoods(), NextProposal("d", Dist.point(0), "kind", prior)
        for _ in range(300):
            assert least < likelihoods.of(proposal) < most
            likelihoods.observe([proposal], int(prior))

    def test_what_is_long_ago_counts_less(self) -> None:
        """After a thousand right guesses three hundred wrong ones are the rule."""
        likelihoods, proposal = Likelihoods(), NextProposal("d", Dist.point(0), "kind", 0.5)
        for accepted in (*[1] * 100, *[0] * 30):
            likelihoods.begin()
            for _ in range(20):
                likelihoods.observe([proposal], accepted)
        likelihoods.begin()
        assert 0.2 < likelihoods.of(proposal) < 0.5

    def test_one_long_reply_says_less_about_the_pair_than_two_short_ones(self) -> None:
        """The guesses of a reply are alike."""

        def learned(replies: list[int]) -> float:
            likelihoods, proposal = Likelihoods(), NextProposal("d", Dist.point(0), "kind", 0.5)
            for guesses_n in replies:
                likelihoods.begin()
                for _ in range(guesses_n):
                    likelihoods.observe([proposal], 1)
            likelihoods.begin()
            return likelihoods.of(proposal)

        assert learned([400]) < learned([40, 40])

    def test_a_drafter_that_is_always_wrong_is_believed_in_nothing(self) -> None:
        """Nor where it is certain in a way not seen yet; one right guess, or a new try, and it is believed again."""
        kinds = [NextProposal("d", Dist.point(0), f"kind {n}", 0.8) for n in range(9)]
        likelihoods, other = Likelihoods(), NextProposal("other", Dist.point(0), "kind 8", 0.8)
        likelihoods.observe(kinds[:1], 1)
        assert likelihoods.of(kinds[8]) > 0.75
        for kind in kinds[1:6]:
            likelihoods.observe([kind], 0)
        assert likelihoods.of(kinds[8]) < 0.25
        assert likelihoods.of(other) > 0.75
        likelihoods.try_again("d")
        assert likelihoods.of(kinds[8]) > 0.75
        for kind in kinds[1:4]:
            likelihoods.observe([kind], 0)
        likelihoods.observe(kinds[6:8], 2)
        assert likelihoods.of(kinds[8]) > 0.5

    def test_two_bad_tokens_do_not_undo_what_many_good_ones_showed(self) -> None:
        """However sure the drafter was of them: the surest are wrong now and then."""
        likelihoods, proposal = Likelihoods(), NextProposal("d", Dist.point(0), "kind", 0.97)
        likelihoods.observe([proposal] * 40, 40)
        for _ in range(2):
            likelihoods.observe([proposal], 0)
        assert likelihoods.of(proposal) > 0.6

    def test_this_reply_counts_more_than_the_others(self) -> None:
        likelihoods, proposal = Likelihoods(), NextProposal("d", Dist.point(0), "kind", 0.5)
        for _ in range(10):
            likelihoods.begin()
            for _ in range(20):
                likelihoods.observe([proposal], 1)
        assert likelihoods.of(proposal) > 0.9
        likelihoods.begin()
        assert likelihoods.of(proposal) > 0.9, "what the pair does is the prior of the next reply"
        for _ in range(40):
            likelihoods.observe([proposal], 0)
        assert likelihoods.of(proposal) < 0.3
