"""A download in words: one wording for the command line and the app. Pure functions from events to text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localspec.runtime.figures import size

if TYPE_CHECKING:
    from localspec.models.download.events import Delayed, Progressed


def amounts(event: Progressed) -> str:
    """How much of it is here: "1.20 GB of 5.64 GB"."""
    return f"{size(event.done_bytes)} of {size(event.total_bytes)}"


def pace(event: Progressed) -> str:
    """How fast it comes and how long the rest takes, as far as that is known."""
    parts = []
    if event.bytes_per_second is not None:
        parts.append(f"{event.bytes_per_second / 1e6:.1f} MB/s")
    if event.seconds_left is not None:
        parts.append(f"{duration(event.seconds_left)} left")
    return ", ".join(parts)


def fraction(event: Progressed) -> float:
    """How much of it is here, 0..1."""
    return event.done_bytes / max(1, event.total_bytes)


def delay(event: Delayed) -> str:
    """Why a file waits."""
    wait = f" Trying again in {event.wait_s:.0f} s." if event.wait_s else ""
    return f"{event.file}: {event.reason}{wait}"


def duration(seconds: float) -> str:
    """Seconds as a person counts them.

    >>> duration(42.4), duration(150), duration(8000)
    ('42 s', '3 min', '2 h 13 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
