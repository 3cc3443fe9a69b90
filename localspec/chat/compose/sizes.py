"""Amounts of text in words, narrow enough for a mark in a line."""

from __future__ import annotations


def kilobytes(size_bytes: int) -> str:
    """The size of a text.

    >>> kilobytes(12), kilobytes(4_200), kilobytes(1_024_000)
    ('0.1 kB', '4.2 kB', '1,024 kB')
    """
    kb = size_bytes / 1000
    return f"{max(kb, 0.1):.1f} kB" if kb < 9.95 else f"{kb:,.0f} kB"


def lines(n: int) -> str:
    """A number of lines with the word.

    >>> lines(1), lines(12_034)
    ('1 line', '12,034 lines')
    """
    return "1 line" if n == 1 else f"{n:,} lines"


def size_bytes(text: str) -> int:
    return len(text.encode("utf-8", errors="replace"))


def line_n(text: str) -> int:
    """The number of lines, a last one without an end included."""
    return text.count("\n") + (not text.endswith("\n"))
