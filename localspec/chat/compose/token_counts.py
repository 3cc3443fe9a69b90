"""Token counts of texts: the engine's where there is one, an estimate meanwhile.

Long texts go to the engine in pieces, one at a time and only while it has nothing else to do, so that a message
never waits long behind a count. Knows nothing of processes: the caller sends ``next_piece`` to the engine and
gives its answer to ``counted``.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass

PIECE_CHARS = 32_000
"""About as much as is counted within a frame of the screen."""
CHARS_A_TOKEN = 3.5
"""Assumed before anything was counted."""
MAX_KNOWN = 256


@dataclass(frozen=True, slots=True)
class TokenCount:
    n: int
    exact: bool
    """False for an estimate, and for a text that was counted in pieces."""

    def __add__(self, other: TokenCount) -> TokenCount:
        return TokenCount(self.n + other.n, self.exact and other.exact)

    def __str__(self) -> str:
        return f"{'' if self.exact else '~'}{self.n:,} token{'' if self.n == 1 else 's'}"


class TokenCounter:
    """Counts of texts under one vocabulary; a text is asked for once."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, TokenCount] = OrderedDict()
        self._wanted: deque[str] = deque()
        self._pieces: deque[str] = deque()
        self._current = ""
        """The text whose pieces are being counted."""
        self._counted_n = 0
        self._chars_a_token = CHARS_A_TOKEN

    def forget(self) -> None:
        """Another vocabulary is in use."""
        self._known.clear()
        self._pieces.clear()
        self._chars_a_token = CHARS_A_TOKEN

    def count(self, text: str) -> TokenCount:
        """The count of ``text``, exact or estimated."""
        if not text:
            return TokenCount(0, exact=True)
        known = self._known.get(text)
        if known is not None:
            self._known.move_to_end(text)
            return known
        return TokenCount(max(1, round(len(text) / self._chars_a_token)), exact=False)

    def want(self, texts: Iterable[str]) -> None:
        """Count these next, and drop the texts that were wanted before."""
        self._wanted = deque(text for text in dict.fromkeys(texts) if text and text not in self._known)
        if self._pieces and (not self._wanted or self._wanted[0] != self._current):
            self._pieces.clear()

    def next_piece(self) -> str | None:
        """The text to be counted now; None if all that is wanted is known."""
        if not self._pieces:
            while self._wanted and self._wanted[0] in self._known:
                self._wanted.popleft()
            if not self._wanted:
                return None
            text = self._current = self._wanted[0]
            self._pieces.extend(text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS))
            self._counted_n = 0
        return self._pieces[0]

    def counted(self, piece: str, n: int | None) -> None:
        """The engine's answer about a piece; None if it could not say. What is not wanted any more is passed over."""
        if not self._pieces or self._pieces[0] != piece:
            return
        self._pieces.popleft()
        if n is None:
            self._pieces.clear()
            self._wanted.popleft()
            return
        self._counted_n += n
        if not self._pieces:
            self._learn(self._wanted.popleft(), self._counted_n)

    def _learn(self, text: str, n: int) -> None:
        self._known[text] = TokenCount(n, exact=len(text) <= PIECE_CHARS)
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        if len(text) >= 200 and n:
            self._chars_a_token = len(text) / n
