"""Names of conversations: made from the first question, and found again by a few letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from localspec.store.file_blocks import parted

UNTITLED = "New conversation"
MAX_TITLE_LENGTH = 60

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s|(?<=[。！？])")
_SIGNS = re.compile(r"^(?:[#>*+\-\s]|\d+[.)]\s)+")


def title_of(question: str) -> str:
    """The first sentence of a question on one line, cut at a word; files that go with it are passed over.

    >>> title_of("## Why is the sky blue? I always wondered.")
    'Why is the sky blue?'
    """
    text = parted(question)[1][:10_000]
    lines = (_SIGNS.sub("", line).strip() for line in text.splitlines())
    first = next((line for line in lines if any(map(str.isalnum, line)) and not line.startswith("```")), "")
    printable = "".join(sign if sign.isprintable() else " " for sign in first)
    sentence = " ".join(_SENTENCE_END.split(printable, maxsplit=1)[0].split())
    return _cut(sentence) or UNTITLED


def _cut(text: str) -> str:
    """At most ``MAX_TITLE_LENGTH`` characters; within a word only if that word is all there is."""
    if len(text) <= MAX_TITLE_LENGTH:
        return text
    head = text[:MAX_TITLE_LENGTH]
    words = head.rpartition(" ")[0] if text[MAX_TITLE_LENGTH - 1] != " " else head
    return (words.rstrip(" ,;:") or head[:-1]) + "…"


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    """A title that has the letters of a filter, in their order."""

    index: int
    """Of the title among those that were searched."""
    positions: tuple[int, ...]
    """Of those letters in the title, to be marked."""
    score: int
    """More is better: letters in a row and at the beginning of words count."""


def fuzzy(query: str, titles: Sequence[str]) -> list[FuzzyMatch]:
    """Titles that have the letters of ``query`` in order, the best first; equally good ones keep their order.

    Case, accents and spaces make no difference; an empty query has all titles.
    """
    letters = "".join(_plain(sign) for sign in query if not sign.isspace())
    found = [match for index, title in enumerate(titles) if (match := _match(letters, title, index)) is not None]
    return sorted(found, key=lambda match: -match.score)


def _match(letters: str, title: str, index: int) -> FuzzyMatch | None:
    signs = [_plain(sign) for sign in title]
    best: FuzzyMatch | None = None
    for start, sign in enumerate(signs) if letters else ():
        if not sign or not letters.startswith(sign):
            continue
        positions = _follow(letters, signs, start)
        if positions is None:
            break
        score = _score(positions, title)
        if best is None or score > best.score:
            best = FuzzyMatch(index, positions, score)
    return best if letters else FuzzyMatch(index, (), 0)


def _follow(letters: str, signs: Sequence[str], start: int) -> tuple[int, ...] | None:
    """The earliest places for the letters from ``start`` on."""
    positions = []
    rest = letters
    for position in range(start, len(signs)):
        if rest and signs[position] and rest.startswith(signs[position]):
            rest = rest[len(signs[position]) :]
            positions.append(position)
    return None if rest else tuple(positions)


def _score(positions: Sequence[int], title: str) -> int:
    in_a_row = sum(b - a == 1 for a, b in pairwise(positions))
    begins = sum(position == 0 or not title[position - 1].isalnum() for position in positions)
    return 3 * in_a_row + 4 * begins - min(positions[0], 20) // 4 - (positions[-1] - positions[0]) // 8


def _plain(sign: str) -> str:
    """A character without case and accents; an accent that stands alone is nothing."""
    parts = unicodedata.normalize("NFKD", sign.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part) and not part.isspace())
