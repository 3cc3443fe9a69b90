"""Conversions of times: UTC datetimes in memory, whole microseconds in the database, ISO 8601 in files."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]
"""Returns the current time in UTC."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST, _LAST = ((datetime(year, 7, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND for year in (1, 9999))
"""The range of times, in microseconds since 1970: those that are times in every zone."""


def now() -> datetime:
    """The current time of the system."""
    return datetime.now(UTC)


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The time of microseconds since 1970; the nearest there is for those that only a damaged row has."""
    return _EPOCH + min(max(micros, _FIRST), _LAST) * _MICROSECOND


def from_seconds(seconds: float) -> datetime:
    """The time of seconds since 1970. Raises ValueError or OverflowError if it is out of range."""
    return _in_range(round(seconds * 1e6))


def to_iso(moment: datetime) -> str:
    """The text of a time: ``2026-11-21T23:05:00.123456Z``."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def from_iso(text: str) -> datetime:
    """The time of an ISO 8601 text, in UTC if it has no zone. Raises ValueError or OverflowError."""
    moment = datetime.fromisoformat(text)
    return _in_range(to_micros(moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment))


def _in_range(micros: int) -> datetime:
    if not _FIRST <= micros <= _LAST:
        raise OverflowError("out of range")
    return from_micros(micros)


def local_time(moment: datetime) -> str:
    """The local date and time to the minute, for people."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
