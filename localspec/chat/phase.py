"""What the engine is doing, as far as we were told."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """One at a time."""

    LOADING = "loading"
    IDLE = "idle"
    READING = "reading the prompt"
    WRITING = "writing"
    BROKEN = "broken"
    """Loading failed, or the process died; the next message tries again."""
