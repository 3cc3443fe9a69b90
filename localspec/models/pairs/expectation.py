"""The speed of a pair on this machine, expected before it is downloaded or measured where it has run."""

from __future__ import annotations

from dataclasses import dataclass

EXPECTED, MEASURED = "expected", "measured"
"""The sources of a speed: the measured second of this machine, or replies of the pair itself."""
READABLE_PER_SECOND = 8.0
"""Tokens a second at which people can read along."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """Tokens a second."""

    plain_per_second: float
    with_draft_per_second: float | None = None
    """The speed with its drafter, at the depth that pays; None without a drafter."""
    source: str = EXPECTED
    replies_n: int = 0
    """Replies that were measured."""

    @property
    def per_second(self) -> float:
        """The speed of replies: with the drafter if there is one."""
        return self.with_draft_per_second or self.plain_per_second
