"""The parts of a paper: pages, sheets, cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from localspec.base.errors import InputError


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a paper, read as they are asked for; reading may raise whatever a library does."""

    unit: str
    """The word for one part; empty where a paper has but one."""
    total_n: int
    texts: Iterator[str | Iterator[str]]
    """Each the text of a part, or the pieces of one that is long."""


def encrypted() -> InputError:
    """The error for a paper under a password, or in a cipher that cannot be read."""
    return InputError("{name} is encrypted.", "Save a copy without a password, and attach that.")
