"""Redaction: regular expressions for text that must not leave the store."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from localspec.base.errors import InputError
from localspec.config.texts import read_text

REPLACEMENT = "[redacted]"


class Redaction:
    """Replaces all text that matches a pattern."""

    def __init__(self, patterns: Sequence[re.Pattern[str]] = ()) -> None:
        self._patterns = tuple(patterns)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The begin and end of all matches in ``text``, sorted and merged."""
        found = sorted(
            match.span()
            for pattern in self._patterns
            for match in pattern.finditer(text)
            if match.end() > match.start()
        )
        merged: list[tuple[int, int]] = []
        for begin, end in found:
            if merged and begin < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((begin, end))
        return merged

    def completes(self, before: str, text: str) -> bool:
        """True if a part of ``text`` is of a match in ``before`` and ``text``, one behind the other."""
        return touches(self.spans(before + text), len(before), len(before) + len(text))

    def clean(self, text: str) -> str:
        """``text`` with every match replaced."""
        return replaced(text, self.spans(text))


def replaced(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """``text`` with the spans replaced."""
    pieces, at = [], 0
    for begin, end in spans:
        pieces += [text[at:begin], REPLACEMENT]
        at = end
    return "".join([*pieces, text[at:]])


def touches(spans: Sequence[tuple[int, int]], begin: int, end: int) -> bool:
    """True if a span overlaps the range from ``begin`` to ``end``, or contains the point between two characters."""
    place = bisect_right(spans, (end, -1))
    return place > 0 and spans[place - 1][1] > begin


def read_rules(path: Path) -> Redaction:
    """Read a file with a regular expression of Python's ``re`` on each line; blank lines and # comments are skipped.

    Raises NotFoundError, or InputError that names the line.
    """
    patterns = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        rule = line.strip()
        if not rule or rule.startswith("#"):
            continue
        try:
            pattern = re.compile(rule)
        except (re.error, OverflowError, RecursionError) as error:
            raise InputError(
                f"{path}, line {number}: {rule!r} is not a regular expression ({error}).", "Correct it."
            ) from None
        patterns.append(pattern)
    if not patterns:
        raise InputError(f"{path} has no rules.", "Write one regular expression on each line.")
    return Redaction(patterns)
