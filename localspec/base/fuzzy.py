"""Fuzzy matching: texts that have the letters of a query in order, the best first; and the word nearest to a typo."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice

_SHORTEST_BEGINNING = 3
"""Letters from which a word is taken for the beginning of another, rather than for a misspelling."""


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    """A candidate that has the letters of the query, in their order."""

    index: int
    """The place of the candidate among those that were searched."""
    positions: tuple[int, ...]
    """The places of those letters in the candidate, to be marked."""


def fuzzy(
    query: str, candidates: Iterable[str], n: int | None = None, *, shorter_first: bool = False
) -> list[FuzzyMatch]:
    """The ``n`` candidates that fit best, or all that fit, best first; an empty query fits all.

    Case and accents make no difference. The whole query at the beginning of a name fits best (of a path, the name is
    what follows the last slash), then within the name, then in the path, then its letters scattered, without its
    spaces. Of equals the shorter comes first if that is asked for, else the first.
    """
    wanted = " ".join(_fold(query)[0].split())
    if not wanted:
        return [FuzzyMatch(index, ()) for index, _ in enumerate(islice(candidates, n))]
    letters = "".join(wanted.split())
    scattered = _scattered(letters)
    texts = list(candidates)
    ranks = []
    for index, candidate in enumerate(texts):
        rank = _rank(wanted, scattered, _fold(candidate)[0])
        if rank is not None:
            ranks.append((*rank, len(candidate) if shorter_first else 0, index))
    best = sorted(ranks) if n is None else nsmallest(n, ranks)
    return [FuzzyMatch(rank[-1], _positions(wanted, letters, texts[rank[-1]])) for rank in best]


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The word that ``word`` may be the beginning or a misspelling of; None if none is near.

    >>> nearest("temp", ["theme", "temperature"])
    'temperature'
    """
    from difflib import get_close_matches

    wanted, known = word.lower(), list(words)
    begun = [each for each in known if len(wanted) >= _SHORTEST_BEGINNING and each.startswith(wanted)]
    near = begun or get_close_matches(wanted, known, n=1, cutoff=0.55)
    return near[0] if near else None


def _rank(wanted: str, scattered: re.Pattern[str], text: str) -> tuple[int, int] | None:
    """Lower is better; None if the text does not have the letters."""
    at, name = _whole(wanted, text)
    if at >= 0:
        kind = 0 if name.startswith(wanted) else 1 if wanted in name else 2
        return kind, int(at > 0 and text[at - 1].isalnum())
    found = scattered.search(text)
    return None if found is None else (3, found.end() - found.start())


def _whole(wanted: str, text: str) -> tuple[int, str]:
    """The place of the whole query, in the name if it is there; and the name. The place is -1 if it is nowhere."""
    path = text.rstrip("/")
    name = path.rpartition("/")[2]
    return text.find(wanted, len(path) - len(name) if wanted in name else 0), name


def _positions(wanted: str, letters: str, candidate: str) -> tuple[int, ...]:
    text, places = _fold(candidate)
    at, _ = _whole(wanted, text)
    if at >= 0:
        return tuple(dict.fromkeys(places[at : at + len(wanted)]))
    found = _scattered(letters).search(text)
    assert found is not None, "it was ranked"
    return tuple(dict.fromkeys(places[at] for at in _follow(letters, text, found.start())))


def _scattered(letters: str) -> re.Pattern[str]:
    """Each letter at its first place after the one before: no other way through has to be tried."""
    first, *rest = map(re.escape, letters)
    return re.compile(first + "".join(f"[^{letter}]*{letter}" for letter in rest))


def _follow(letters: str, text: str, start: int) -> list[int]:
    """The earliest places of the letters from ``start`` on."""
    positions: list[int] = []
    for letter in letters:
        positions.append(text.index(letter, positions[-1] + 1 if positions else start))
    return positions


def _fold(text: str) -> tuple[str, Sequence[int]]:
    """The text without case and accents, and for each of its characters the place it comes from."""
    if text.isascii():
        return text.lower(), range(len(text))
    folded = [(part, place) for place, sign in enumerate(text) for part in _plain(sign)]
    return "".join(part for part, _ in folded), [place for _, place in folded]


def _plain(sign: str) -> str:
    """A character without case and accents; an accent that stands alone is nothing."""
    parts = unicodedata.normalize("NFKD", sign.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))
