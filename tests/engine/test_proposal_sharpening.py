"""The law that proposals are drawn by, sharpened to what the target would take."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from localspec.engine.dist import Dist
from localspec.engine.proposal_sharpening import FAVOURITE, ProposalSharpening, applied, overlap


class TestProposalLaw:
    def test_overlap_is_the_chance_to_survive(self) -> None:
        p, q = Dist.of(*arrays([1, 2, 5], [0.5, 0.25, 0.25])), Dist.of(*arrays([2, 5, 7], [0.6, 0.1, 0.3]))
        assert overlap(p, q) == pytest.approx(0.25 + 0.1)

    def test_where_the_target_is_sharper_than_the_draft_the_favourite_wins(self) -> None:
        law = ProposalSharpening()
        flat, sharp = Dist.of(*arrays([1, 2, 3], [0.4, 0.3, 0.3])), Dist.of(*arrays([1, 2], [0.97, 0.03]))
        law.learn([flat] * 50, [sharp] * 50)
        assert law.best == FAVOURITE
        assert list(law.of(flat)[1].ids) == [1]

    def test_where_both_are_alike_drawing_wins(self) -> None:
        law = ProposalSharpening()
        flat = Dist.of(*arrays([1, 2, 3], [0.4, 0.3, 0.3]))
        law.learn([flat] * 50, [flat] * 50)
        assert law.best == "drawn"

    def test_the_favourite_is_the_likeliest(self) -> None:
        base = Dist.of(*arrays([1, 2, 3], [0.2, 0.5, 0.3]))
        assert applied(FAVOURITE, base).ids.tolist() == [2]

    def test_what_is_too_unlikely_for_a_number_is_not_proposed(self) -> None:
        base = Dist.of(*arrays([1, 2, 3], [0.5, 1e-200, 0.5]))
        sharper = applied("drawn at 2/5", base)
        assert (sharper.ids.tolist(), sharper.probs.tolist()) == ([1, 3], [0.5, 0.5])

    def test_a_draft_without_a_choice_teaches_nothing(self) -> None:
        """All ways come to the same there."""
        law = ProposalSharpening()
        before = dict(law._accepted)
        law.learn([Dist.point(1), None], [Dist.point(1), Dist.point(2)])
        assert law._accepted == before

    def test_a_lower_temperature_keeps_the_order(self) -> None:
        base = Dist.of(*arrays([1, 2, 3], [0.5, 0.3, 0.2]))
        sharper = applied("drawn at 2/5", base)
        assert math.isclose(float(sharper.probs.sum()), 1)
        assert sharper.probs[0] > 0.5 > sharper.probs[1] > sharper.probs[2]


def arrays(ids: list[int], weights: list[float]) -> tuple[Any, Any]:
    return np.array(ids, dtype=np.int64), np.array(weights)
