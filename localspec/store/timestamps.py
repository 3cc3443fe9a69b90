"""Points in time: UTC with microseconds inside, whole microseconds in the database, ISO 8601 in files."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]
"""Says what time it is, in UTC."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> datetime:
    """The system's time."""
    return datetime.now(UTC)


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Undo ``to_micros``."""
    return _EPOCH + micros * _MICROSECOND


def from_seconds(seconds: float) -> datetime:
    """Seconds since 1970, as other programs write them. Raises ValueError or OverflowError if there is no such time."""
    return from_micros(round(seconds * 1e6))


def to_iso(moment: datetime) -> str:
    """As in ``2026-11-21T23:05:00.123456Z``."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def from_iso(text: str) -> datetime:
    """Undo ``to_iso``; a time without a zone is taken for UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
