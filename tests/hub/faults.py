"""Faults of one request for bytes, and of one to the Hub itself."""

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


@dataclass(frozen=True)
class Answer:
    """The Hub itself says something else than it should."""

    body: bytes


@dataclass(frozen=True)
class Elsewhere:
    """It is said to be at another address."""

    address: str


HubFault = Refuse | Page | Answer | Elsewhere | Stall
"""A fault of one request to the Hub itself; the others are about bytes."""
Fault = Cut | Stall | Refuse | WrongBytes | IgnoreRange | OtherRange | OtherContent | Page | Elsewhere


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
            Page(),
        ]
        faults.append(rng.choices(choices, weights=[8, 3, 3, 2, 1, 1, 1, 1, 1, 1])[0])
    return faults


def rough_schedule(seed: int, size_bytes: int) -> tuple[list[Fault], list[HubFault | None]]:
    """Faults for successive requests for bytes, and for successive requests to the Hub itself.

    Among them lines that break every 700 kB from the first header on, and addresses that run out while the Hub is away.
    """
    rng = random.Random(seed)
    faults = schedule(seed, size_bytes)
    asleep = rng.random() < 0.3
    if asleep:  # a cut, no Hub yet, and by then the address is refused
        at = rng.randrange(len(faults) + 1)
        faults[at:at] = [Cut(rng.randint(0, size_bytes // 4)), Refuse(403), Refuse(403)]
    if rng.random() < 0.3:
        faults = [Cut(700_000)] * rng.randint(4, 16) + faults
    choices: list[HubFault | None] = [
        None,
        Refuse(rng.choice((500, 502, 503, 504))),
        Refuse(429, retry_after=str(rng.randint(0, 3))),
        Page(),
        Answer(rng.choice((b'{"id": 17}', b"[" * 100_000, b'{"siblings": [{"rfilename": 5}]}', b"\xff{"))),
        Elsewhere(rng.choice(("http://[::1", "http://127.0.0.1:99999/x", "ftp://127.0.0.1/x"))),
    ]
    hub_faults = rng.choices(choices, weights=[12, 4, 2, 1, 1, 1], k=rng.randint(4, 16))
    if asleep:
        hub_faults[4:4] = [Refuse(503)] * 2
    return faults, hub_faults
