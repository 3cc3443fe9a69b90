"""The policy of retries: how often, and after which wait."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which the same request may succeed."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Exponential backoff with jitter."""

    attempts: int = 7
    """Failures in a row, without a byte between them, after which a download fails."""
    first_s: float = 1.0
    longest_s: float = 30.0
    longest_asked_s: float = 300.0
    """The longest wait that a server may ask for; a longer one is reported as an error."""
    rng: Callable[[], float] = random.random

    def wait_s(self, failures: int, asked_s: float | None = None) -> float | None:
        """Seconds to wait after so many failures in a row; None to give up.

        ``asked_s`` is the wait that the server asked for (``Retry-After``).
        """
        if failures >= self.attempts or (asked_s or 0) > self.longest_asked_s:
            return None
        if asked_s is not None:
            return asked_s + self.rng()
        longest = min(self.longest_s, self.first_s * 2.0 ** (failures - 1))
        return longest * (0.5 + self.rng() / 2)


def asked_wait_s(retry_after: str | None) -> float | None:
    """The seconds in a ``Retry-After`` header; None without one, or if it is a date."""
    text = (retry_after or "").strip()
    return float(text) if text.isascii() and text.isdigit() else None
