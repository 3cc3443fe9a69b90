"""One finding of the examination."""

from __future__ import annotations

from dataclasses import dataclass

OK, NOTE, PROBLEM = "ok", "note", "problem"
"""The levels: a problem stops something from working or costs most of the speed; a note is worth knowing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding in a sentence, with advice."""

    area: str
    level: str
    text: str
    hint: str = ""
    """The next step."""
    command: str = ""
    """The command for it."""
