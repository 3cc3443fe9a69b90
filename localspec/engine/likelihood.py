"""The rate at which proposals of a kind are accepted, learned from every proposal that was judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from localspec.engine.drafter import NextProposal

_PRIOR_WEIGHT = 10.0
"""The weight of a kind's prior, in judged proposals."""
_PAIR_WEIGHT = 6.0
"""The most weight that the pair's other replies have in this one, in judged proposals."""
_MEMORY = 300.0
"""Judged proposals of other replies that are remembered; older ones fade."""
_LOWEST, _HIGHEST = 0.005, 0.995


@dataclass(slots=True)
class _Count:
    accepted: float = 0.0
    judged: float = 0.0

    def add(self, accepted: bool, memory: float) -> None:
        fading = 1 - 1 / memory if self.judged >= memory else 1.0
        self.judged = self.judged * fading + 1
        self.accepted = self.accepted * fading + accepted

    def estimate(self, prior: float, weight: float) -> float:
        return (self.accepted + weight * prior) / (self.judged + weight)


@dataclass(slots=True)
class Likelihoods:
    """Chances of acceptance, by drafter and kind of evidence.

    How honest a draft's certainty is differs from text to text, so what this reply showed counts most; the pair's
    other replies are its prior, and the drafter's own word is theirs.
    """

    _pair: dict[tuple[str, str], _Count] = field(default_factory=dict)
    _reply: dict[tuple[str, str], _Count] = field(default_factory=dict)

    def begin(self) -> None:
        """Start a reply."""
        self._reply.clear()

    def of(self, proposal: NextProposal) -> float:
        """The chance that this proposal is accepted."""
        key = (proposal.drafter, proposal.evidence)
        chance = proposal.prior
        if pair := self._pair.get(key):
            chance = pair.estimate(chance, _PRIOR_WEIGHT)
        if reply := self._reply.get(key):
            chance = reply.estimate(chance, _PAIR_WEIGHT)
        return min(max(chance, _LOWEST), _HIGHEST)

    def observe(self, proposals: Sequence[NextProposal], accepted: int) -> None:
        """The first ``accepted`` of these proposals stayed, and the next, if there is one, did not."""
        for position, proposal in enumerate(proposals[: accepted + 1]):
            key = (proposal.drafter, proposal.evidence)
            self._pair.setdefault(key, _Count()).add(position < accepted, _MEMORY)
            self._reply.setdefault(key, _Count()).add(position < accepted, _MEMORY)
