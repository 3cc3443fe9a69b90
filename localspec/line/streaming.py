"""Text that comes in pieces of any length, handed on in pieces that can be read aloud."""

from __future__ import annotations

from enum import StrEnum

LONGEST_WORD = 80
"""So many characters without a space are handed on as they are: not every script has spaces."""


class Stride(StrEnum):
    """How much text is written at a time."""

    WORD = "word"
    LINE = "line"


class Strides:
    """Holds text back until a word or a line of it is whole. What goes in comes out, in order."""

    def __init__(self, stride: Stride) -> None:
        self._stride = stride
        self._held = ""

    def push(self, text: str) -> str:
        """What can be written now that ``text`` has come."""
        self._held += text
        end = self._end()
        ready, self._held = self._held[:end], self._held[end:]
        return ready

    def rest(self) -> str:
        """All that is held: nothing more comes."""
        rest, self._held = self._held, ""
        return rest

    def _end(self) -> int:
        line_end = self._held.rfind("\n") + 1
        if self._stride is Stride.LINE:
            return line_end
        bare = self._held.rstrip()
        if len(bare) < len(self._held):
            return len(self._held)
        start = max(bare.rfind(" "), bare.rfind("\t")) + 1
        if len(self._held) - start > LONGEST_WORD:
            return len(self._held)
        return max(line_end, start)
