"""The whole theorem: what of a draft may stay, so that the reply keeps the target's distribution.

Leviathan et al. 2023 (arXiv 2211.17192) and Chen et al. 2023 (arXiv 2302.01318) judge token by token;
Sun et al. 2024 (arXiv 2403.10444) judge the draft as a block, which keeps more of a drawn draft. Lossless
means the same distribution, exactly, in exact arithmetic. A batched pass and a pass for one token differ
in floating point, so text can differ at a near-tie; no verifier can mend that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from localspec.engine.dist import Dist, RepeatableRng, Rng
from localspec.engine.drafter import Draft
from localspec.engine.model import ScoreRows
from localspec.engine.sampling import Sampler

IsEnd = Callable[[int], bool]
_ALL: Any = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of verifying a draft."""

    accepted: int
    """The number of proposals that stay."""
    token: int | None
    """The target's own token after them: corrected, bonus or plain. None if the last accepted
    proposal ended the turn."""
    target_dists: list[Dist] = field(default_factory=list)
    """The target's distributions at the first places, as far as they were needed."""


def verify(draft: Draft, rows: ScoreRows, sampler: Sampler, rng: Rng, is_end: IsEnd) -> Verdict:
    """Judge ``draft`` against the target's logits ``rows``, shape (len(draft) + 1, n_vocab).

    The row of a proposal that is certain may be empty.

    ``sampler`` is advanced along the committed path, so stateful samplers see exactly the reply.
    Judging a block needs the target's distributions along the whole draft, which a stateful sampler
    cannot tell in advance; and it gains nothing where proposals are point masses.
    """
    if isinstance(rng, RepeatableRng):
        return _by_race(draft, rows, sampler, rng, is_end)
    drawn_n = sum(len(q.ids) > 1 for q in draft.dists)
    if sampler.stateless and len(draft) > 1 and drawn_n:
        return _by_block(draft, rows, sampler, rng, is_end)
    return _by_token(draft, rows, sampler, rng, is_end)


def _by_token(draft: Draft, rows: ScoreRows, sampler: Sampler, rng: Rng, is_end: IsEnd) -> Verdict:
    """A proposal x drawn from q stays with probability min(1, p(x)/q(x)); at the first that does not,
    the normalised positive part of p - q gives the replacement.
    """
    target_dists: list[Dist] = []
    for position, (x, q) in enumerate(zip(draft.tokens, draft.dists, strict=True)):
        p = sampler.dist(rows[position])
        target_dists.append(p)
        if not rng.accepts(p.prob(x), q.prob(x)):
            token = rng.draw(p.minus(q))
            sampler.accept(token)
            return Verdict(position, token, target_dists)
        sampler.accept(x)
        if is_end(x):
            return Verdict(position + 1, None, target_dists)
    token = rng.draw(sampler.dist(rows[len(draft)]))
    sampler.accept(token)
    return Verdict(len(draft), token, target_dists)


def _by_race(draft: Draft, rows: ScoreRows, sampler: Sampler, rng: RepeatableRng, is_end: IsEnd) -> Verdict:
    """Proposals stay as long as the target draws the same; ``rng`` stands at the place of the first."""
    target_dists: list[Dist] = []
    for position, x in enumerate(draft.tokens):
        target_dists.append(sampler.dist(rows[position]))
        token = rng.draw(target_dists[-1])
        sampler.accept(token)
        if token != x:
            return Verdict(position, token, target_dists)
        if is_end(x):
            return Verdict(position + 1, None, target_dists)
    token = rng.draw(sampler.dist(rows[len(draft)]))
    sampler.accept(token)
    return Verdict(len(draft), token, target_dists)


def _by_block(draft: Draft, rows: ScoreRows, sampler: Sampler, rng: Rng, is_end: IsEnd) -> Verdict:
    """The longest prefix whose joint probability the target can answer for stays.

    P_i = min(1, P_(i-1) p(x_i)/q(x_i)) is the chance that a prefix of i tokens is kept at least; given
    that, i is a place to stop with probability S / (S + 1 - P_i), S being the sum of the positive part of
    P_i p - q at the next place. The last place that says so counts.
    """
    target_dists = [sampler.dist(rows[0])]
    kept, kept_weight, weight = 0, _ALL, _ALL
    for position, (x, q) in enumerate(zip(draft.tokens, draft.dists, strict=True)):
        weight = min(1, weight * target_dists[position].prob(x) / q.prob(x))
        if weight == 0:
            break  # no longer prefix can be kept either, so no further row is looked at
        if position + 1 == len(draft):
            stays, out_of = weight, 1
        else:
            target_dists.append(sampler.dist(rows[position + 1]))
            stays = target_dists[position + 1].excess(draft.dists[position + 1], weight)
            out_of = stays + 1 - weight
        if out_of == 0 or (stays and rng.accepts(stays, out_of)):
            kept, kept_weight = position + 1, weight
    for x in draft.tokens[:kept]:
        sampler.accept(x)
    if kept == len(draft):
        if is_end(draft.tokens[-1]):
            return Verdict(kept, None, target_dists)
        token = rng.draw(sampler.dist(rows[kept]))
    else:
        token = rng.draw(target_dists[kept].minus(draft.dists[kept], kept_weight))
    sampler.accept(token)
    return Verdict(kept, token, target_dists)
