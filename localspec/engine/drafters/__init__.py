"""Drafters: whatever proposes tokens.

A drafter is one file here, named as the user names it (``_`` for ``-``), with a function
``make(parts: Parts) -> Drafter``. There is no list to add it to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol

from localspec.engine.dist import Chance, Dist
from localspec.engine.model import Model, Vocab
from localspec.engine.sampling import Sampler
from localspec.errors import UsageError


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


@dataclass(frozen=True, slots=True)
class Parts:
    """What there is to make a drafter from."""

    vocab: Vocab
    """The target's."""
    draft: Model | None
    """The draft model, if one is loaded."""


def drafter_names() -> tuple[str, ...]:
    """All drafters there are, as ``--spec`` takes them."""
    return tuple(sorted(module.name.replace("_", "-") for module in iter_modules(__path__)))


def make_drafter(name: str, parts: Parts) -> Drafter:
    """The drafter called ``name``. Raises UsageError if there is none, or if it lacks what it is made from."""
    if name not in drafter_names():
        raise UsageError(f"There is no drafter {name!r}.", f"Known drafters: {', '.join(drafter_names())}.")
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    drafter: Drafter = module.make(parts)
    return drafter
