"""Texts about a download, shared by the command line and the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localspec.base.amounts import duration
from localspec.runtime.figures import size

if TYPE_CHECKING:
    from localspec.models.download.events import Delayed, Progressed


def amounts(event: Progressed) -> str:
    """The arrived and the total amount: "1.20 GB of 5.64 GB"."""
    return f"{size(event.done_bytes)} of {size(event.total_bytes)}"


def pace(event: Progressed) -> str:
    """The speed and the time left, as far as known."""
    parts = []
    if event.bytes_per_second is not None:
        parts.append(f"{event.bytes_per_second / 1e6:.1f} MB/s")
    if event.seconds_left is not None:
        parts.append(f"{duration(event.seconds_left)} left")
    return ", ".join(parts)


def fraction(event: Progressed) -> float:
    """The arrived fraction, 0..1."""
    return event.done_bytes / max(1, event.total_bytes)


def delay(event: Delayed) -> str:
    """The reason why a file waits."""
    wait = f" Trying again in {event.wait_s:.0f} s." if event.wait_s else ""
    return f"{event.file}: {event.reason}{wait}"


def parting_words(n: int, key: str) -> str:
    """The effect of quitting on ``n`` downloads; ``key`` quits."""
    stops = f"{n} downloads stop here and go" if n > 1 else "A download stops here and goes"
    return f"{stops} on at the next start; {key} once more quits."
