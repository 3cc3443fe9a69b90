"""The end of a reply under way that may be a call: front ends that show no calls wait for what becomes of it."""

from __future__ import annotations

import re

from localspec.runtime.calls.reading import CallReader

_UNDECIDED_N = 200
"""Characters after which a text that begins as calls do, and has become none, is text."""
_SURE_N = 40
"""Characters of a reply that show whether it begins with reasoning."""


class HeldBack:
    """Follows the text of one reply as it grows."""

    def __init__(self, reader: CallReader, *, bare: bool, reasons: bool) -> None:
        """``bare`` is the syntax's; ``reasons`` is as for ``CallReader.read``."""
        self._bare = bare
        self._reader = reader
        self._reasons = reasons
        self._heads = reader.heads
        self._head = re.compile("|".join(map(re.escape, self._heads)))
        self._from = 0
        """The place before which there is no call."""
        self._answer: int | None = None

    def start(self, text: str) -> int:
        """The index from which ``text`` may be white space and a call; its length if nowhere. It only ever grows."""
        answer = self._answer_start(text)
        return len(text if answer is None else text[: self._head_start(text, answer)].rstrip())

    def has_begun(self, text: str) -> bool:
        """True if the whole head of a call is held back, and not only its first letters."""
        start = self.start(text)
        return self._head.search(text, start) is not None and (not self._bare or self._reader.names_tool(text[start:]))

    def _head_start(self, text: str, answer: int) -> int:
        at = max(self._from, answer)
        while found := self._head.search(text, at):
            if self._may_call(text, found.start(), answer):
                return found.start()
            at = self._from = found.end()
        at = self._from = len(text) if self._bare else self._cut_short(text, at)
        return at

    def _answer_start(self, text: str) -> int | None:
        if self._answer is None:
            answer = self._reader.answer_start(text, reasons=self._reasons)
            if answer or len(text.lstrip()) < _SURE_N:
                return answer
            self._answer = answer
        return self._answer

    def _may_call(self, text: str, at: int, answer: int) -> bool:
        if self._bare:
            alone = not text[answer:at].strip()
            return alone and (len(text) - at <= _UNDECIDED_N or self._reader.names_tool(text[at:]))
        return self._reader.begins_at(text, at) or len(text) - at <= _UNDECIDED_N

    def _cut_short(self, text: str, at: int) -> int:
        """The index of a head's beginning at the end of the text; its length if there is none."""
        longest = max(map(len, self._heads)) - 1
        starts = range(max(at, len(text) - longest), len(text))
        return next((i for i in starts if any(head.startswith(text[i:]) for head in self._heads)), len(text))
