"""The whole theorem: what of a draft may stay, so that the reply keeps the target's distribution.

Leviathan et al. 2023 (arXiv 2211.17192) and Chen et al. 2023 (arXiv 2302.01318). Lossless means the
same distribution, exactly, in exact arithmetic. A batched pass and a pass for one token differ in
floating point, so text can differ at a near-tie; no verifier can mend that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from localspec.engine.dist import Chance, Dist
from localspec.engine.drafters import Draft
from localspec.engine.model import Logits
from localspec.engine.sampling import Sampler


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a draft."""

    accepted: int
    """How many proposals stay."""
    token: int | None
    """The target's own token after them: corrected, bonus or plain. None if the last accepted
    proposal ended the turn."""


def verify(
    draft: Draft,
    rows: Logits,
    sampler: Sampler,
    chance: Chance,
    is_end: Callable[[int], bool],
) -> Verdict:
    """Judge ``draft`` against the target's logits ``rows``, shape (len(draft) + 1, n_vocab).

    A proposal x drawn from q stays with probability min(1, p(x)/q(x)); at the first that does not,
    the normalised positive part of p - q gives the replacement. ``sampler`` is advanced along the
    committed path, so stateful samplers see exactly the reply.
    """
    for position, (x, q) in enumerate(zip(draft.tokens, draft.dists, strict=True)):
        p: Dist = sampler.dist(rows[position])
        if not chance.accepts(p.prob(x), q.prob(x)):
            token = chance.draw(p.minus(q))
            sampler.accept(token)
            return Verdict(position, token)
        sampler.accept(x)
        if is_end(x):
            return Verdict(position + 1, None)
    token = chance.draw(sampler.dist(rows[len(draft)]))
    sampler.accept(token)
    return Verdict(len(draft), token)
