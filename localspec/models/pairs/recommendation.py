"""The recommendation of one pair for this machine, by a rule that is shown with it.

By the expected speed where that is known: the best model that people can read along with. Elsewhere by sizes alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from math import log

from localspec.gguf.draft_heads import DRAFT, MTP
from localspec.models.fit import Room
from localspec.models.heads import can_run
from localspec.models.pairs.draft_size import draft_distance
from localspec.models.pairs.estimate import known_size, target_bytes
from localspec.models.pairs.expectation import READABLE_PER_SECOND, Expectation
from localspec.models.pairs.pair import Pair
from localspec.models.pairs.suitability import GREEN, Suitability

RULE = (
    "the largest target that fits with what drafts for it, of at most 6 GB where it is read from a PC's RAM; among "
    "targets of about that size one with a draft first, then a verified one, then one with heads or a draft near a "
    "tenth of its target, then the first in the list"
)
MOST_FROM_RAM_BYTES = 6 * 10**9
"""The largest target from a PC's RAM: all weights are read for every token, so larger ones are too slow."""
_NEAR = log(2)
"""A draft from half to twice the best ratio counts as near it."""
_EQUAL_FACTOR = 1.25
"""Targets whose sizes differ by less than this factor count as equal."""


def reads_quickly(room: Room, platform: str = sys.platform) -> bool:
    """True if weights lie in fast memory: a GPU's own, or a Mac's.

    An integrated GPU of a PC reads the same RAM as the processor, no faster.
    """
    return room.device_bytes is not None and (not room.device_shares_ram or platform == "darwin")


def recommend(
    judged: Sequence[tuple[Pair, Suitability]], speeds: Mapping[str, Expectation] | None = None, *, quick: bool = True
) -> tuple[Pair, str] | None:
    """The recommended pair with the reason in a sentence; None if none fits.

    ``speeds`` are expected speeds by pair id; those of unknown speed are left out then. ``quick`` is from
    ``reads_quickly`` and counts where no speed is known.

    A single model, which the suffix drafter speeds up, is recommended where no pair of about its size is. A pair with
    a drafter that llama.cpp cannot run or with little gain is not; the tour only as the last resort.
    """
    fitting = [pair for pair, fit in judged if fit.colour == GREEN and pair.recommended]
    candidates = [pair for pair in fitting if _can_draft(pair) and not pair.tour]
    if not candidates:
        tour = next((pair for pair in fitting if pair.tour), None)
        reason = "the only pair that fits this machine as it is now"
        return (tour, f"Recommended: {tour.id}, {reason}.") if tour else None
    timed = [(pair, speeds[pair.id].per_second) for pair in candidates if pair.id in speeds] if speeds else []
    if timed:
        return _by_speed(timed)
    if not quick:
        small = [pair for pair in candidates if target_bytes(pair) <= MOST_FROM_RAM_BYTES]
        candidates = small or [min(candidates, key=target_bytes)]
    best = _best_of_largest(candidates)
    return best, f"Recommended: {best.id}, by this rule: {RULE}{_alone(best)}."


def _by_speed(timed: Sequence[tuple[Pair, float]]) -> tuple[Pair, str]:
    """The best model of a readable pace, or the fastest one; ``timed`` are pairs with their tokens a second."""
    readable = [pair for pair, per_second in timed if per_second >= READABLE_PER_SECOND]
    speeds = {pair.id: per_second for pair, per_second in timed}
    if readable:
        best = _best_of_largest(readable)
        why = f"the best model here that is fast enough to read along: about {speeds[best.id]:.0f} tokens a second"
    else:
        best, _ = max(timed, key=lambda each: each[1])
        pace = max(1, round(speeds[best.id]))
        why = f"the fastest here, at about {pace} tokens a second: none is fast enough to read along"
    return best, f"Recommended: {best.id}, {why}{_alone(best)}."


def _alone(pair: Pair) -> str:
    """The drafter of a single model, as a clause; empty for a pair."""
    return "; it is a single model, which drafts from its own text (suffix)" if _is_single(pair) else ""


def _best_of_largest(candidates: Sequence[Pair]) -> Pair:
    """The best target of about the largest size: first by having a draft, then verified, then a suitable drafter."""
    sized = [(pair, target_bytes(pair)) for pair in candidates]  # looked up once: files may change meanwhile
    largest = max(size for _, size in sized)
    equals = [pair for pair, size in sized if size * _EQUAL_FACTOR >= largest]
    return min(equals, key=lambda pair: (_is_single(pair), not pair.verified, _distance(pair)))


def _is_single(pair: Pair) -> bool:
    return pair.draft is None and pair.drafter != MTP


def _can_draft(pair: Pair) -> bool:
    """True if llama.cpp can run what drafts for the target; a single model has the suffix drafter."""
    if _is_single(pair):
        return True
    architecture = pair.target.architecture
    return architecture is None or can_run(pair.drafter, architecture)


def _distance(pair: Pair) -> float:
    """The distance of the draft's size from the best one; 0 if it is near, and for heads."""
    if pair.drafter != DRAFT:
        return 0.0
    draft = (known_size(pair.draft) if pair.draft else None) or 1
    return max(0.0, draft_distance(draft, target_bytes(pair)) - _NEAR)
