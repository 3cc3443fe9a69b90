"""How large a draft should be beside its target, by what is read for every token: the bytes of their files."""

from __future__ import annotations

from math import log

SMALLEST, LARGEST = 1 / 20, 1 / 4
BEST = 1 / 10


def is_draft_size(draft_bytes: int, target_bytes: int) -> bool:
    """Smaller ones guess badly, larger ones take too long."""
    return target_bytes * SMALLEST <= draft_bytes <= target_bytes * LARGEST


def draft_distance(draft_bytes: int, target_bytes: int) -> float:
    """0 for the best share, more the further from it."""
    return abs(log(max(1, draft_bytes) / max(1, target_bytes) / BEST))
