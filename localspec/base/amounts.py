"""Amounts of data, of time and of things in words."""

from __future__ import annotations


def amount(size_bytes: float) -> str:
    """Bytes, as people read them.

    >>> amount(512), amount(3_145_728), amount(2_497_280_256)
    ('512 bytes', '3.1 MB', '2.50 GB')
    """
    if size_bytes < 1e5:
        return f"{size_bytes:,.0f} bytes"
    return f"{size_bytes / 1e6:.1f} MB" if size_bytes < 1e9 else f"{size_bytes / 1e9:.2f} GB"


def duration(seconds: float) -> str:
    """A duration, as exact as people want it.

    >>> duration(42.4), duration(160), duration(8000)
    ('42 s', '3 min', '2 h 13 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def number_of(n: int, noun: str) -> str:
    """A number of things whose plural ends in s.

    >>> number_of(1, "file"), number_of(2345, "file")
    ('1 file', '2,345 files')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
