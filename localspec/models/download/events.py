"""What a download reports while it goes on; ``dataclasses.asdict`` makes each of them JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Progressed:
    """More has arrived, of one file and of all together."""

    file: str
    file_bytes: int
    """Of this file, on the disk; it may fall when the file has to start over."""
    file_total_bytes: int
    done_bytes: int
    """Of all files together."""
    total_bytes: int
    bytes_per_second: float | None
    """Lately; None until it is known."""
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class Delayed:
    """A file waits, and goes on by itself."""

    file: str
    reason: str
    wait_s: float


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file is complete, proved and in its place."""

    file: str
    path: Path
    size_bytes: int
    fetched_bytes: int
    """How many of them came over the network this time."""


DownloadEvent = Progressed | Delayed | Fetched
