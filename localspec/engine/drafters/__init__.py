"""Drafters: whatever proposes tokens. A drafter is one file here, named as the user names it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from localspec.engine.dist import Chance, Dist
from localspec.engine.sampling import Sampler


@dataclass(slots=True)
class Draft:
    """Proposals with the distributions they were drawn from.

    It grows only by ``draw``, so the recorded q is always the one the token really came from; that
    is what makes ``verify`` exact for any drafter.
    """

    tokens: list[int] = field(default_factory=list)
    dists: list[Dist] = field(default_factory=list)

    def draw(self, dist: Dist, chance: Chance) -> int:
        """Propose a token drawn from ``dist``."""
        token = chance.draw(dist)
        self.tokens.append(token)
        self.dists.append(dist)
        return token

    def __len__(self) -> int:
        return len(self.tokens)


class Drafter(Protocol):
    """Guesses what comes next."""

    @property
    def name(self) -> str:
        """As in ``--spec`` and in the event stream."""
        ...

    def prefill(self, context: Sequence[int]) -> None:
        """Catch up with ``context`` ahead of time, so that ``draft`` is quick. Raises ``Cancelled``."""
        ...

    def draft(self, context: Sequence[int], depth: int, sampler: Sampler, chance: Chance) -> Draft:
        """Up to ``depth`` proposals for what follows ``context``; fewer is always allowed.

        ``sampler`` is the target's; fork it to walk ahead. Whether to propose one more token must be
        decided before it is drawn, never by the value drawn: dropping a drawn token biases the reply.
        Raises ``Cancelled``.
        """
        ...
