"""Finding what somebody means by a few of its letters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from heapq import nsmallest


def best(query: str, candidates: Iterable[str], n: int) -> list[str]:
    """The ``n`` candidates that fit best, best first; without a query the first ones.

    Upper and lower case are the same. Letters may be apart, but come in order; letters together fit better, at the
    beginning of a name best. Of equals the shorter fits better, then the first.
    """
    if not query:
        return [candidate for candidate, _ in zip(candidates, range(n), strict=False)]
    wanted = query.lower()
    # Each letter at its first place after the one before: no other way through has to be tried.
    first, *rest = (re.escape(letter) for letter in wanted)
    scattered = re.compile(first + "".join(f"[^{letter}]*{letter}" for letter in rest))
    ranked = ((_rank(wanted, scattered, candidate), i, candidate) for i, candidate in enumerate(candidates))
    return [candidate for _, _, candidate in nsmallest(n, (entry for entry in ranked if entry[0] is not None))]


def _rank(wanted: str, scattered: re.Pattern[str], candidate: str) -> tuple[int, int, int] | None:
    """Lower is better; None if it does not fit."""
    text = candidate.lower()
    at = text.find(wanted)
    if at >= 0:
        name = text.rstrip("/").rpartition("/")[2]
        kind = 0 if name.startswith(wanted) else 1 if wanted in name else 2
        return kind, len(candidate), at
    found = scattered.search(text)
    return None if found is None else (3, found.end() - found.start(), len(candidate))


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The word that ``word`` may have been meant as; None if none is near."""
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), list(words), n=1, cutoff=0.55)
    return near[0] if near else None
