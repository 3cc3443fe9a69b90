"""Passages of texts, ranked for a question by Okapi BM25.

The formula is equation 3.15 of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond"
(2009). Words are compared by their first letters: plain, and the same for every language that writes endings; signs of
Chinese, Japanese and Korean are words of their own.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from localspec.store.file_blocks import TextFile

PASSAGE_CHARS = 800
"""About 200 tokens, so that several passages fit into a small context."""
STEM_CHARS = 6
"""The first letters of a word that count: "install", "installed" and "installation" are one."""
K1, B = 1.2, 0.75
"""Saturation of a word that is said often, and the weight of a passage's length: the paper's usual values."""
LEAST_SHARE = 0.25
"""The share of the best passage's score that a passage needs: one that fits less is not worth the time to read it."""
RANK_OFFSET = 60
"""The constant of reciprocal rank fusion, as the paper has it."""
FOUND = "found for the question"
"""Ends the note of a passage, for the model and for the reader."""

_SIGNS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_SIGNS}]|[^\W{_SIGNS}]+")
_PAGE = re.compile(r"\[Page (\d+)\]\n")
_TAKEN = re.compile(r" \(of ([^()]+)\), ")


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A piece of a file's text, of whole lines where they are not too long."""

    file: TextFile
    start: int
    """The beginning in the file, in characters."""
    stop: int

    @property
    def text(self) -> str:
        """The name of its file, and the piece."""
        return f"{self.file.name}\n{self.file.text[self.start : self.stop]}"


class PassageIndex:
    """The passages of some files, and where each word stands: built once, as it takes a second for 5 MB."""

    def __init__(self, files: Sequence[TextFile]) -> None:
        self.passages = [Passage(file, *ends) for file in files for ends in _cuts(file.text)]
        """All passages, in the order of the files."""
        self.words_n = array("I")
        """The length of each passage."""
        self._places: dict[str, array[int]] = {}
        """The places of each word: a passage and the number of times it has the word, one after the other."""
        for number, passage in enumerate(self.passages):
            counted = Counter(_words(passage.text))
            self.words_n.append(counted.total())
            for word, times in counted.items():
                self._places.setdefault(word, array("I")).extend((number, times))

    def places(self, word: str) -> Iterator[tuple[int, int]]:
        """The passages with this word, and how often it is there."""
        places = self._places.get(word, array("I"))
        return zip(places[::2], places[1::2], strict=True)

    def passages_n(self, word: str) -> int:
        """The number of passages with this word."""
        return len(self._places.get(word, ())) // 2


@lru_cache(maxsize=8)
def index_of(files: tuple[TextFile, ...]) -> PassageIndex:
    """The index of these files, which is kept for a while: the question changes with every letter typed."""
    return PassageIndex(files)


@lru_cache(maxsize=8)
def found_for(
    question: str, indexes: tuple[PassageIndex, ...], room_chars: int, near: tuple[Passage, ...] = ()
) -> tuple[TextFile, ...]:
    """The best passages for a question as files with a note, in the order of the files; as many as there is room for.

    ``near`` are those that are near to it by meaning, the nearest first. A question without a word of theirs ("sum this
    up") and without any near gets the beginning of each file.
    """
    said = _ranked(question, indexes)
    reasons = {passage: _reason(passage in said, passage in near) for passage in near and (*said, *near)}
    chosen: set[Passage] = set()
    for passage in fused(said, near) or _beginnings(indexes):
        room_chars -= passage.stop - passage.start
        if room_chars < 0 and chosen:
            break
        chosen.add(passage)
    in_order = [passage for index in indexes for passage in index.passages if passage in chosen]
    return tuple(file for _, same in groupby(in_order, lambda each: each.file) for file in _joined(list(same), reasons))


def fused(*rankings: Sequence[Passage]) -> list[Passage]:
    """Passages of several rankings by reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""
    scores: defaultdict[Passage, float] = defaultdict(float)
    for ranking in rankings:
        for rank, passage in enumerate(ranking, 1):
            scores[passage] += 1 / (RANK_OFFSET + rank)
    return sorted(scores, key=lambda passage: -scores[passage])


def _reason(by_words: bool, by_meaning: bool) -> frozenset[str]:
    return frozenset(name for name, counts in (("words", by_words), ("meaning", by_meaning)) if counts)


def _ranked(question: str, indexes: Sequence[PassageIndex]) -> list[Passage]:
    """Passages with a word of the question, the best first."""
    passages_n = sum(len(index.passages) for index in indexes)
    mean_n = sum(sum(index.words_n) for index in indexes) / max(1, passages_n)
    scores: defaultdict[Passage, float] = defaultdict(float)
    for word in set(_words(question)):
        with_word_n = sum(index.passages_n(word) for index in indexes)
        weight = math.log(1 + (passages_n - with_word_n + 0.5) / (with_word_n + 0.5))
        for index in indexes:
            for number, times in index.places(word):
                length = 1 - B + B * index.words_n[number] / mean_n
                scores[index.passages[number]] += weight * times * (K1 + 1) / (times + K1 * length)
    ranked = sorted(scores.items(), key=lambda scored: -scored[1])
    return [passage for passage, score in ranked if score >= LEAST_SHARE * ranked[0][1]]


def _beginnings(indexes: Sequence[PassageIndex]) -> list[Passage]:
    """The first passage of each file, then the second of each, and so on."""
    numbered: Counter[int] = Counter()
    ranks = []
    for passage in (passage for index in indexes for passage in index.passages):
        ranks.append((numbered[id(passage.file)], passage))
        numbered[id(passage.file)] += 1
    return [passage for _, passage in sorted(ranks, key=lambda rank: rank[0])]


def _joined(passages: Sequence[Passage], reasons: Mapping[Passage, frozenset[str]]) -> Iterator[TextFile]:
    """Passages of one file, those that follow each other as one."""
    first = last = passages[0]
    why: frozenset[str] = frozenset()
    for passage in passages:
        if passage is not first and passage.start != last.stop:
            yield _as_file(first.file, first.start, last.stop, why)
            first, why = passage, frozenset()
        why |= reasons.get(passage, frozenset())
        last = passage
    yield _as_file(first.file, first.start, last.stop, why)


def taken_of(file: TextFile) -> str:
    """The part of a paper that was taken, as "pages 1-40 of 312", also of a passage of it; empty if all was."""
    if not file.note.endswith(FOUND):
        return file.note
    taken = _TAKEN.search(file.note)
    return taken[1] if taken else ""


def _as_file(file: TextFile, start: int, stop: int, why: frozenset[str]) -> TextFile:
    first, last = file.text.count("\n", 0, start) + 1, file.text.count("\n", 0, stop - 1) + 1
    page = _PAGE.match(file.text, max(0, file.text.rfind("[Page ", 0, start + len("[Page "))))
    place = f"page {page[1]}" if page else f"line {first}" if first == last else f"lines {first}-{last}"
    taken = f" (of {file.note})" if file.note else ""
    by = f", by {' and '.join(sorted(why, reverse=True))}" if why else ""
    return TextFile(file.name, file.text[start:stop], f"{place}{taken}{by}, {FOUND}")


def _cuts(text: str) -> Iterator[tuple[int, int]]:
    """The ends of the passages of a text: at headings and empty lines where there are any."""
    start = at = 0
    before = ""
    for line in text.splitlines(keepends=True):
        size = at - start
        new_thought = line.startswith(("#", "[Page ")) or not before.strip()
        if size and (size + len(line) > PASSAGE_CHARS or (new_thought and size > PASSAGE_CHARS // 2)):
            yield start, at
            start = at
        at, before = at + len(line), line
        while at - start > 2 * PASSAGE_CHARS:
            yield start, start + PASSAGE_CHARS
            start += PASSAGE_CHARS
    if at > start:
        yield start, at


def _words(text: str) -> list[str]:
    return [word[:STEM_CHARS] for word in _WORD.findall(text.casefold())]
