"""Where a text changes its character: a code block, a list or a quotation begins or ends."""

from __future__ import annotations

import re

_LANDMARK = re.compile(r"```|\n[ \t]{0,8}(?:[-*+]|\d+[.)])[ \t]|\n[ \t]{0,8}>|\n#{1,6} |\n\n")
_LOOK_BACK = 12
"""Characters of the text before that a landmark may begin in."""


class StructureChange:
    """Follows a text as it grows."""

    def __init__(self) -> None:
        self._tail = ""

    def turns(self, text: str) -> bool:
        """Whether the text changes its character in what is added now."""
        if not text:
            return False
        seen = self._tail + text
        before_n = len(self._tail)
        self._tail = seen[-_LOOK_BACK:]
        return any(found.end() > before_n for found in _LANDMARK.finditer(seen))
