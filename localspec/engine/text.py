"""From tokens to text that never shows half a character and never shows a stop string."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import replace

from localspec.engine.events import Round, Token
from localspec.engine.model import Vocab


class Utf8Stream:
    """Bytes in, whole characters out. Bytes that can never become a character show as U+FFFD."""

    def __init__(self, vocab: Vocab, written_out: Mapping[int, bytes] | None = None) -> None:
        """``written_out`` has the bytes of tokens that are shown although they add none to the text."""
        self._vocab = vocab
        self._written_out = written_out or {}
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, token: int) -> str:
        """The characters completed by this token, possibly none."""
        return self._decoder.decode(self._written_out.get(token) or self._vocab.piece(token))


class StopStrings:
    """Watches a growing text for the first stop string. The work goes by the text, not by the stop strings' lengths."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = [_StopString(stop) for stop in stops if stop]
        self._length = 0
        self.safe_n = 0
        """The number of leading characters that belong to the reply for certain."""
        self.found: str | None = None
        """The first stop string that is complete, of several the one that begins first; ``safe_n`` is its begin."""

    def feed(self, text: str) -> bool:
        """Append ``text``; returns True if a stop string is complete."""
        found = [(self._length + n - len(each.text), each.text) for each in self._stops if (n := each.feed(text))]
        self._length += len(text)
        if found:
            self.safe_n, self.found = min(found)
            return True
        self.safe_n = self._length - max((each.begun_n for each in self._stops), default=0)
        return False


class _StopString:
    """One stop string in a growing text, searched for as by Knuth, Morris and Pratt."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.begun_n = 0
        """Length of the longest end of the growing text that begins the stop string."""
        self._shorter = [0, 0]
        """The length of the longest shorter beginning at the end of each, by its length. Known as far as needed."""

    def feed(self, text: str) -> int:
        """Append ``text``; returns the number of its characters with which the stop string is complete, or 0."""
        for i, char in enumerate(text, 1):
            self.begun_n = self._longest(self.begun_n, char)
            if self.begun_n == len(self.text):
                return i
            if self.begun_n == len(self._shorter):
                self._shorter.append(self._longest(self._shorter[-1], char))
        return 0

    def _longest(self, begun_n: int, char: str) -> int:
        """Length of the longest beginning that ends with ``char``, behind one of length ``begun_n``."""
        while self.text[begun_n] != char:
            if not begun_n:
                return 0
            begun_n = self._shorter[begun_n]
        return begun_n + 1


class RoundRelease:
    """Holds rounds back while their text may still turn out to be part of a stop string.

    Rounds leave in order, each exactly once, so that nothing shown ever has to be taken back.
    """

    def __init__(self) -> None:
        self._held: list[Round] = []
        self._released_n = 0
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        """The text of all rounds released so far."""
        return "".join(self._parts)

    def add(self, round_: Round, safe_n: int) -> list[Round]:
        """Take a round; give those whose text lies within the first ``safe_n`` characters."""
        self._held.append(round_)
        ready: list[Round] = []
        while self._held and self._released_n + len(_text_of(self._held[0])) <= safe_n:
            ready.append(self._release(self._held.pop(0)))
        return ready

    def finish(self, end_n: int | None) -> list[Round]:
        """Give the rest, with all text from character ``end_n`` on removed (None removes nothing)."""
        held, self._held = self._held, []
        return [self._release(round_ if end_n is None else self._cut(round_, end_n)) for round_ in held]

    def _release(self, round_: Round) -> Round:
        self._parts.append(_text_of(round_))
        self._released_n += len(self._parts[-1])
        return round_

    def _cut(self, round_: Round, end_n: int) -> Round:
        at = self._released_n
        tokens: list[Token] = []
        for token in round_.tokens:
            tokens.append(replace(token, text=token.text[: max(0, end_n - at)]))
            at += len(token.text)
        return replace(round_, tokens=tuple(tokens))


def _text_of(round_: Round) -> str:
    return "".join(token.text for token in round_.tokens)
