"""The size of a good draft relative to its target, in bytes of their files, which are read for every token."""

from __future__ import annotations

from math import log

SMALLEST, LARGEST = 1 / 20, 1 / 4
BEST = 1 / 10


def is_draft_size(draft_bytes: int, target_bytes: int) -> bool:
    """True if the size suits a draft: smaller ones are rejected too often, larger ones take too long."""
    return target_bytes * SMALLEST <= draft_bytes <= target_bytes * LARGEST


def draft_distance(draft_bytes: int, target_bytes: int) -> float:
    """The distance of the size ratio from the best one; 0 at the best."""
    return abs(log(max(1, draft_bytes) / max(1, target_bytes) / BEST))
