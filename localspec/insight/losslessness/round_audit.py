"""The audit of rounds: the tokens of every speculative reply add up."""

from __future__ import annotations

from dataclasses import dataclass, field

from localspec.base.amounts import number_of
from localspec.engine.events import Origin, Round
from localspec.insight.losslessness.check import Check, CheckOutcome
from localspec.insight.losslessness.subject import Answer

_SHOWN_N = 5


@dataclass(slots=True)
class RoundAudit:
    """Adds up the rounds of speculative replies, and notes those whose tokens do not add up."""

    replies_n: int = 0
    rounds_n: int = 0
    proposed_n: int = 0
    accepted_n: int = 0
    faults: list[str] = field(default_factory=list)

    def enter(self, answer: Answer) -> None:
        """Count a reply that was made with speculation."""
        self.replies_n += 1
        for round_ in answer.rounds:
            last = round_ is answer.rounds[-1]
            self.rounds_n += 1
            self.proposed_n += round_.proposed_n
            self.accepted_n += round_.accepted_n
            if fault := _fault(round_, last):
                self.faults.append(f"reply {self.replies_n}, round {round_.index + 1}: {fault}")

    def check(self) -> Check:
        """The rounds of all replies entered."""
        figures = {
            "replies_n": self.replies_n,
            "rounds_n": self.rounds_n,
            "draft_n": self.proposed_n,
            "draft_n_accepted": self.accepted_n,
            "faults_n": len(self.faults),
        }
        if self.faults:
            text = f"{len(self.faults)} of {self.rounds_n:,} rounds do not add up."
            return Check("rounds", CheckOutcome.FAIL, text, tuple(self.faults[:_SHOWN_N]), figures)
        if not self.proposed_n:
            text = "Nothing was proposed, so speculation was not tested. Choose a depth above 0, or another drafter."
            return Check("rounds", CheckOutcome.OPEN, text, (), figures)
        text = (
            f"All {self.rounds_n:,} rounds add up: {self.proposed_n:,} tokens proposed, {self.accepted_n:,} accepted, "
            "and one of the target's own after each draft."
        )
        return Check("rounds", CheckOutcome.PASS, text, (), figures)


def _fault(round_: Round, last: bool) -> str | None:
    """The fault of a round, or None. In the last one the reply may end before the target's own token."""
    origins = [token.origin for token in round_.tokens]
    if not origins:
        return "nothing was committed"
    if any(origin is not Origin.ACCEPTED for origin in origins[:-1]):
        return "a token of the target's own is not the last"
    if round_.proposed_n > round_.depth:
        return f"{number_of(round_.proposed_n, 'proposal')} at depth {round_.depth}"
    if origins[-1] is Origin.ACCEPTED:
        return None if last else "no token of the target's own follows the accepted ones (bonus or correction)"
    expected = Origin.CORRECTED if round_.rejected else Origin.BONUS if round_.accepted_n else Origin.PLAIN
    return None if origins[-1] is expected else f"the last token is {origins[-1]}, not {expected}"
