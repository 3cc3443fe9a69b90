"""Charts of text that need no colour: bars and rows of bars."""

from __future__ import annotations

from collections.abc import Sequence

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HEIGHTS = "▁▂▃▄▅▆▇█"
_ASCII_HEIGHTS = "_.-=+*%#"


def bar(share: float, width: int, *, ascii_only: bool = False) -> str:
    """A bar for a share of 0 to 1, at most ``width`` characters; any share above 0 is visible.

    >>> bar(0.5, 4), bar(0.01, 4), bar(0, 4), bar(0.5, 4, ascii_only=True)
    ('██', '▏', '', '##')
    """
    if ascii_only:
        return "#" * (max(1, round(share * width)) if share > 0 else 0)
    eighths = max(1, round(min(share, 1) * width * 8)) if share > 0 else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def heights(values: Sequence[float | None], most: float, *, ascii_only: bool = False) -> str:
    """A character for each value of 0 to ``most`` by its height; a space for None.

    >>> heights([0, 1, None, 2], 2)
    '▁▅ █'
    """
    signs = _ASCII_HEIGHTS if ascii_only else _HEIGHTS
    return "".join(
        " " if value is None else signs[min(max(round(value / most * 7), 0), 7) if most > 0 else 3] for value in values
    )


def shape(counts: Sequence[int], *, ascii_only: bool = False) -> str:
    """A histogram in a row: a character for each bin, a space for an empty one.

    >>> shape([0, 1, 8, 4])
    ' ▂█▅'
    """
    most = max(counts, default=0)
    return heights([n or None for n in counts], most, ascii_only=ascii_only)
