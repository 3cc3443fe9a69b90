"""The rate at which proposals of a kind are accepted, learned from every proposal that was judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from localspec.engine.drafter import CERTAIN, NextProposal

_PRIOR_WEIGHT = 10.0
"""The weight of a kind's prior, in judged proposals."""
_PAIR_WEIGHT = 6.0
"""The most weight that the pair's other replies have in this one, in judged proposals."""
_MEMORY = 300.0
"""Judged proposals of other replies that are remembered; older ones fade."""
_ALIKE_N = 20.0
"""About the most that the judged proposals of one reply and kind count for the pair: a text's proposals are alike."""
_LOST_ODDS, _MOST_LOST = 0.02, 20.0
"""The odds that a drafter is lost in a reply, wrong however certain it is: at the beginning, and at most."""
_LOST_RATE = 0.05
"""The rate at which a lost drafter's proposals are accepted."""
_SUREST = 0.95
"""The most that a proposal's chance counts for this: two bad tokens are no proof, however sure the drafter was."""
_LOWEST, _HIGHEST = 0.005, 0.995


@dataclass(slots=True)
class _Count:
    accepted: float = 0.0
    judged: float = 0.0

    def add(self, accepted: bool, weight: float = 1.0) -> None:
        fading = 1 - weight / _MEMORY if self.judged >= _MEMORY else 1.0
        self.judged = self.judged * fading + weight
        self.accepted = self.accepted * fading + weight * accepted

    def estimate(self, prior: float, weight: float) -> float:
        return (self.accepted + weight * prior) / (self.judged + weight)


@dataclass(slots=True)
class Likelihoods:
    """Chances of acceptance, by drafter and kind of evidence.

    How honest a draft's certainty is differs from text to text, so what this reply showed counts most; the pair's
    other replies are its prior, and the drafter's own word is theirs. Kinds are learned one by one; that all of them
    are wrong, as with a drafter that knows nothing of a text, is seen sooner from all of its proposals together.
    """

    _pair: dict[tuple[str, str], _Count] = field(default_factory=dict)
    _reply: dict[tuple[str, str], _Count] = field(default_factory=dict)
    _lost: dict[str, float] = field(default_factory=dict)
    """The odds that a drafter is lost in this reply."""

    def begin(self) -> None:
        """Start a reply."""
        self._reply.clear()
        self._lost.clear()

    def for_another(self) -> Likelihoods:
        """Those of a reply beside this one: what a pair teaches is one for both."""
        return Likelihoods(self._pair)

    def try_again(self, drafter: str) -> None:
        """Take back the suspicion that ``drafter`` is lost: where it proposes nothing, nothing could disprove it."""
        self._lost[drafter] = min(self._lost.get(drafter, _LOST_ODDS), _LOST_ODDS)

    def start_over(self, drafter: str) -> None:
        """Forget what this reply showed of ``drafter``: too little to go by, if nothing was added for long."""
        self._lost.pop(drafter, None)
        for key in [key for key in self._reply if key[0] == drafter]:
            del self._reply[key]

    def of(self, proposal: NextProposal) -> float:
        """The chance that this proposal is accepted."""
        if proposal.certain:
            return CERTAIN
        odds = self._lost.get(proposal.drafter, _LOST_ODDS)
        return max((self._of_kind(proposal) + odds * _LOST_RATE) / (1 + odds), _LOWEST)

    def _of_kind(self, proposal: NextProposal) -> float:
        """The chance if its drafter is not lost."""
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
            self._judge(proposal, position < accepted)

    def _judge(self, proposal: NextProposal, accepted: bool) -> None:
        if proposal.certain:
            return
        chance, drafter = min(self._of_kind(proposal), _SUREST), proposal.drafter
        likelier = _LOST_RATE / chance if accepted else (1 - _LOST_RATE) / (1 - chance)
        odds = self._lost.get(drafter, _LOST_ODDS) * likelier
        self._lost[drafter] = min(max(odds, _LOST_ODDS / _MOST_LOST), _MOST_LOST)
        key = (drafter, proposal.evidence)
        reply = self._reply.setdefault(key, _Count())
        weight = _ALIKE_N / (_ALIKE_N + reply.judged) * (_ALIKE_N + 1) / (_ALIKE_N + 1 + reply.judged)
        self._pair.setdefault(key, _Count()).add(accepted, weight)
        reply.add(accepted)
