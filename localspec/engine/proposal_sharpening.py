"""From a draft model's distribution to the one its proposals are drawn from.

Any q is lossless; which is accepted most depends on the pair and the temperature. Naming the favourite
is accepted with probability p(favourite), drawing from q with sum(min(p, q)). The target's rows say what
each *would have had*, so the choice needs no experiments.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localspec.engine.dist import Dist

FAVOURITE = "favourite"
_SHARPER = {"drawn": 1.0, "drawn at 2/3": 1.5, "drawn at 2/5": 2.5}
"""The powers that the draft's probabilities are raised to, by name: each is a lower temperature."""
_FORGETTING = 0.03


class ProposalSharpening:
    """Chooses between naming the favourite and drawing from a more or less sharpened distribution, by acceptance."""

    def __init__(self) -> None:
        # Drawing starts a little ahead: where it matters, at high temperatures, it usually wins.
        self._accepted = {FAVOURITE: 0.6, **{name: 0.61 - 0.001 * i for i, name in enumerate(_SHARPER)}}

    @property
    def best(self) -> str:
        return max(self._accepted, key=self._accepted.__getitem__)

    def of(self, base: Dist) -> tuple[str, Dist]:
        """The best sharpening's name, and the distribution it makes of the draft's own."""
        if len(base.ids) == 1:
            return FAVOURITE, base
        name = self.best
        return name, applied(name, base)

    def learn(self, bases: Sequence[Dist | None], target_dists: Sequence[Dist]) -> None:
        """Learn the rate at which the target would have accepted by each, from its distributions and the draft's."""
        for base, p in zip(bases, target_dists, strict=True):
            if base is None or len(base.ids) == 1 or base.probs.dtype == object:
                continue
            for name in self._accepted:
                rate = overlap(p, applied(name, base))
                self._accepted[name] += _FORGETTING * (rate - self._accepted[name])


def applied(name: str, base: Dist) -> Dist:
    """``base`` sharpened as ``name`` says."""
    if name == FAVOURITE:
        return Dist.point(int(base.ids[int(base.probs.argmax())]))
    power = _SHARPER[name]
    if power == 1:
        return base
    weights = base.probs**power
    # Some may be too small for a number, and a support has none of those.
    return Dist(base.ids, weights / weights.sum()) if weights.min() > 0 else Dist.of(base.ids, weights)


def overlap(p: Dist, q: Dist) -> float:
    """The chance that a proposal drawn from q survives p: the sum of min(p, q)."""
    at = np.minimum(np.searchsorted(p.ids, q.ids), len(p.ids) - 1)
    shared = p.ids[at] == q.ids
    return float(np.minimum(q.probs[shared], p.probs[at[shared]]).sum())
