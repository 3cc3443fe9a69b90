"""What can go wrong with one request for bytes."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Cut:
    """The connection ends after so many bytes of the body."""

    after_bytes: int


@dataclass(frozen=True)
class Stall:
    """The server falls silent after so many bytes of the body, until the client loses patience."""

    after_bytes: int


@dataclass(frozen=True)
class Refuse:
    """A status instead of the file."""

    status: int
    retry_after: str | None = None


@dataclass(frozen=True)
class WrongBytes:
    """One byte of the body is not what it should be."""

    at: int


@dataclass(frozen=True)
class IgnoreRange:
    """The whole file although a part was asked for."""


@dataclass(frozen=True)
class OtherRange:
    """Another part of the file than was asked for, and it says so."""


@dataclass(frozen=True)
class OtherContent:
    """The storage has the content under a new ETag: a request with If-Range gets all of it."""


@dataclass(frozen=True)
class Page:
    """A page to sign in, in place of the file."""


Fault = Cut | Stall | Refuse | WrongBytes | IgnoreRange | OtherRange | OtherContent | Page


def schedule(seed: int, size_bytes: int) -> list[Fault]:
    """Faults for successive requests; the same for the same seed."""
    rng = random.Random(seed)
    faults: list[Fault] = []
    for _ in range(rng.randint(1, 8)):
        choices: list[Fault] = [
            Cut(rng.randint(0, size_bytes // 2)),
            Stall(rng.randint(0, size_bytes // 2)),
            Refuse(rng.choice((500, 502, 503, 504, 408))),
            Refuse(429, retry_after=str(rng.randint(0, 3))),
            Refuse(403),
            Refuse(416),
            WrongBytes(rng.randint(0, size_bytes // 4)),
            IgnoreRange(),
            OtherContent(),
        ]
        faults.append(rng.choices(choices, weights=[8, 3, 3, 2, 1, 1, 1, 1, 1])[0])
    return faults
