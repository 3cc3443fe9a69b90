"""When to try again, and how long to wait before."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""The statuses after which the same request may well succeed."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Waits that double, with jitter so that many clients do not come back at the same moment."""

    attempts: int = 7
    """Failures in a row, without a byte between them, after which a file is given up."""
    first_s: float = 1.0
    longest_s: float = 30.0
    longest_asked_s: float = 300.0
    """The longest wait a server may ask for; beyond that a person should know."""
    rng: Callable[[], float] = random.random

    def wait_s(self, failures: int, asked_s: float | None = None) -> float | None:
        """Seconds to wait after so many failures in a row; None to give up.

        ``asked_s`` is what the server asked for (``Retry-After``).
        """
        if failures >= self.attempts or (asked_s or 0) > self.longest_asked_s:
            return None
        if asked_s is not None:
            return asked_s + self.rng()
        longest = min(self.longest_s, self.first_s * 2.0 ** (failures - 1))
        return longest * (0.5 + self.rng() / 2)


def asked_wait_s(retry_after: str | None) -> float | None:
    """The seconds in a ``Retry-After``; None without one, or if it is a date."""
    text = (retry_after or "").strip()
    return float(text) if text.isascii() and text.isdigit() else None
