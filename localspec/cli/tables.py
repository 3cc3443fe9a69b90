"""Text in columns, and the colours of a row."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from localspec.cli.streams import wants_ansi, wants_colour

GREEN, AMBER, RED, DIM = "32", "33", "31", "2"


def columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows with their columns under each other; the last one may be as long as it likes."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return ["  ".join((*map(str.ljust, row, widths), row[-1])).rstrip() for row in rows]


def coloured(text: str, colour: str | None) -> str:
    """``text`` in a colour, if standard output shows colours; every colour says what a word beside it says too."""
    if colour is None or not (wants_ansi(sys.stdout) and wants_colour()):
        return text
    return f"\x1b[{colour}m{text}\x1b[0m"
