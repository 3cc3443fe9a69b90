"""The events of a download; ``dataclasses.asdict`` turns each into JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Progressed:
    """More bytes have arrived, of one file and of all together."""

    file: str
    file_bytes: int
    """Bytes of this file on the disk; the number falls if the file has to start over."""
    file_total_bytes: int
    done_bytes: int
    """Bytes of all files together."""
    total_bytes: int
    bytes_per_second: float | None
    """The recent speed; None until it is known."""
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class Delayed:
    """A file waits and will go on by itself."""

    file: str
    reason: str
    wait_s: float


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file is complete, verified and in its place."""

    file: str
    path: Path
    size_bytes: int
    fetched_bytes: int
    """The bytes that came over the network this time."""


DownloadEvent = Progressed | Delayed | Fetched
