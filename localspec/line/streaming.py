"""A buffer that turns pieces of text of any length into whole words or lines, which a screen reader can read."""

from __future__ import annotations

from enum import StrEnum

LONGEST_WORD = 80
"""The most characters that are held back for want of a space: not every script has spaces."""


class StreamUnit(StrEnum):
    """The unit in which text is written."""

    WORD = "word"
    LINE = "line"


class UnitBuffer:
    """Holds text back until a word or a line of it is complete. All of it comes out, in order."""

    def __init__(self, unit: StreamUnit) -> None:
        self._unit = unit
        self._held = ""

    def push(self, text: str) -> str:
        """Add text; returns what can be written now."""
        self._held += text
        end = self._end()
        ready, self._held = self._held[:end], self._held[end:]
        return ready

    def rest(self) -> str:
        """Return all that is held: no more text comes."""
        rest, self._held = self._held, ""
        return rest

    def _end(self) -> int:
        line_end = self._held.rfind("\n") + 1
        if self._unit is StreamUnit.LINE:
            return line_end
        bare = self._held.rstrip()
        if len(bare) < len(self._held):
            return len(self._held)
        start = max(bare.rfind(" "), bare.rfind("\t")) + 1
        if len(self._held) - start > LONGEST_WORD:
            return len(self._held)
        return max(line_end, start)
