"""Conversions of times: UTC datetimes in memory, whole microseconds in the database, ISO 8601 in files."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]
"""Returns the current time in UTC."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> datetime:
    """The current time of the system."""
    return datetime.now(UTC)


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The time of microseconds since 1970."""
    return _EPOCH + micros * _MICROSECOND


def from_seconds(seconds: float) -> datetime:
    """The time of seconds since 1970. Raises ValueError or OverflowError if it is out of range."""
    return from_micros(round(seconds * 1e6))


def to_iso(moment: datetime) -> str:
    """The text of a time: ``2026-11-21T23:05:00.123456Z``."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def from_iso(text: str) -> datetime:
    """The time of an ISO 8601 text, in UTC if it has no zone. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def local_time(moment: datetime) -> str:
    """The local date and time to the minute, for people."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
