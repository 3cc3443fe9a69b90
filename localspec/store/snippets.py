"""Snippets: the text around a hit.

SQLite's own snippets run the whole query again for each row, which for a frequent prefix takes longer than the search.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from itertools import islice

Snippet = tuple[tuple[str, bool], ...]
"""Pieces of text, each with True if it matches the query."""

LENGTH = 140
"""The approximate length of a snippet, in characters."""
_BEFORE = 40
_MAX_PLACES = 300
"""Matches of each pattern that are compared to find the place with the most words."""
_LETTER = r"[^\W_]"


class _Fold(dict[int, str]):
    """A table for ``str.translate`` that maps every character to one without case and accents."""

    def __missing__(self, code: int) -> str:
        base = unicodedata.normalize("NFKD", chr(code))[:1].lower()[:1] or chr(code)
        self[code] = base
        return base


_FOLD = _Fold()


def pattern(words: str, *, whole: bool) -> re.Pattern[str]:
    """A pattern for words in a row in a folded text; the last word is ``whole`` or a prefix."""
    pieces = [re.escape(piece) for piece in re.findall(f"{_LETTER}+", fold(words))]
    end = f"(?!{_LETTER})" if whole else f"{_LETTER}*"
    return re.compile(f"(?<!{_LETTER})" + r"[\W_]+".join(pieces) + end)


def literal(fragment: str) -> re.Pattern[str]:
    """A pattern for a literal text."""
    return re.compile(re.escape(fold(fragment)))


def fold(text: str) -> str:
    """``text`` without case and accents; its length stays."""
    return text.lower() if text.isascii() else text.translate(_FOLD)


def snippet(text: str, patterns: Sequence[re.Pattern[str]]) -> Snippet:
    """The snippet at the place where most patterns match close together; the beginning if none does."""
    folded = fold(text)
    places = sorted(
        (found.start(), found.end(), which)
        for which, each in enumerate(patterns)
        for found in islice(each.finditer(folded), _MAX_PLACES)
    )
    at = max(places, key=lambda place: (_kinds_near(places, place[0]), -place[0]))[0] if places else 0
    begin = _word_begin(text, max(0, at - _BEFORE), at)
    end = _word_end(text, min(len(text), begin + LENGTH))
    pieces: list[tuple[str, bool]] = [("…" if begin else "", False)]
    done = begin
    for start, stop, _ in places:
        if start >= done and start < end:
            pieces += [(text[done:start], False), (text[start : min(stop, end)], True)]
            done = min(stop, end)
    pieces += [(text[done:end], False), ("…" if end < len(text) else "", False)]
    return _tidy(pieces)


def _kinds_near(places: Sequence[tuple[int, ...]], at: int) -> int:
    begin, end = (bisect_left(places, (place,)) for place in (at, at + LENGTH - _BEFORE))
    return len({which for _, _, which in places[begin:end]})


def _word_begin(text: str, begin: int, at: int) -> int:
    """The first beginning of a word from ``begin`` to ``at``."""
    if begin == 0:
        return 0
    space = next((n for n in range(begin, at) if text[n].isspace()), None)
    return begin if space is None else space + 1


def _word_end(text: str, end: int) -> int:
    """The last end of a word before ``end``."""
    if end == len(text):
        return end
    return next((n for n in range(end, max(end - 30, 0), -1) if text[n].isspace()), end)


def _tidy(pieces: Sequence[tuple[str, bool]]) -> Snippet:
    """The pieces on one line, with neighbours of one kind joined."""
    joined: list[tuple[str, bool]] = []
    for text, hit in pieces:
        text = re.sub(r"\s+", " ", text)
        if joined and joined[-1][1] == hit:
            joined[-1] = (joined[-1][0] + text, hit)
        elif text:
            joined.append((text, hit))
    if joined:
        joined[0] = (joined[0][0].lstrip(), joined[0][1])
        joined[-1] = (joined[-1][0].rstrip(), joined[-1][1])
    return tuple(piece for piece in joined if piece[0])
