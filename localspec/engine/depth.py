"""How deep to speculate: a policy sees every round and names the depth of the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from localspec.engine.events import Round


class DepthPolicy(Protocol):
    """Chooses the depth of the next round."""

    def depth(self) -> int:
        """How many proposals to ask for; 0 decodes plainly."""
        ...

    def observe(self, round_: Round) -> None:
        """A round has ended."""
        ...


@dataclass(frozen=True, slots=True)
class FixedDepth:
    """Always the same depth."""

    value: int

    def depth(self) -> int:
        return self.value

    def observe(self, round_: Round) -> None:
        """Nothing to learn."""
