"""One thing that was looked at, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

OK, NOTE, PROBLEM = "ok", "note", "problem"
"""A problem keeps something from working, or most of the speed away; a note is worth knowing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """In a sentence."""

    area: str
    level: str
    text: str
    hint: str = ""
    """What to do."""
    command: str = ""
    """What to type to do it."""
