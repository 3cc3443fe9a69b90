"""The examination of a pair: all checks in order, with progress."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from localspec.base.errors import CapacityError, LocalSpecError
from localspec.engine.settings import Sampling
from localspec.insight.losslessness.check import Check, CheckOutcome
from localspec.insight.losslessness.greedy import GreedyTest
from localspec.insight.losslessness.likelihood import LikelihoodTest
from localspec.insight.losslessness.round_audit import RoundAudit
from localspec.insight.losslessness.sampled import SampledTest
from localspec.insight.losslessness.structured import StructuredTest
from localspec.insight.losslessness.subject import ScorablePair, Speculation
from localspec.insight.prompt_sets import BenchPrompt

FALSE_ALARM = 0.001
"""The chance that a flawless pair fails its statistical tests, all of them together."""
_SHORT_CHARACTERS = 400
"""Only prompts up to this length are asked hundreds of times."""


@dataclass(frozen=True, slots=True)
class ExaminationPlan:
    """The extent of an examination."""

    speculation: Speculation
    sampling: Sampling = field(default_factory=Sampling)
    prompts: tuple[BenchPrompt, ...] = ()
    tokens: int = 64
    """The length of a greedy reply, and of one whose likelihood is judged."""
    samples_n: int = 300
    """Openings of either kind at each place."""
    places_n: int = 3
    """Prompts at which the distribution of openings is tested."""
    opening_n: int = 3
    """Tokens of an opening."""
    replies_n: int = 3
    """Replies of either kind to each prompt, for their likelihood."""
    structured_n: int = 4
    """Replies of either kind that are held to a JSON Schema; 0 leaves that out."""
    seed: int = 0

    @property
    def short(self) -> tuple[BenchPrompt, ...]:
        """Prompts that are quickly read; all of them if none is."""
        short = (prompt for prompt in self.prompts if len(prompt.messages[-1].content) <= _SHORT_CHARACTERS)
        return tuple(short) or self.prompts

    @property
    def places(self) -> int:
        return 0 if self.sampling.greedy else min(self.places_n, len(self.short))

    @property
    def false_alarm(self) -> float:
        """The probability for one test, so that all together stay below ``FALSE_ALARM`` (Bonferroni)."""
        return FALSE_ALARM / (self.places + 1)


def examine(pair: ScorablePair, plan: ExaminationPlan) -> Iterator[Check | float]:
    """Checks as they are done and, in between, the share of the work that is, 0..1. Raises Cancelled."""
    audit = RoundAudit()
    parts = _parts(pair, plan, audit)
    total_n, done_n = sum(part.tokens_n for part in parts), 0.0
    for part in parts:
        for check in _unbroken(part):
            if check is None:
                done_n += part.step_tokens
                yield min(1.0, done_n / total_n)
            else:
                yield check
    yield audit.check()


def _unbroken(part: _Part) -> Iterator[Check | None]:
    """The checks of a part. A reply that breaks off fails its check; one that has no room leaves it open."""
    try:
        yield from part.checks
    except CapacityError as error:
        yield Check(part.name, CheckOutcome.OPEN, f"There is no room for the replies: {error.message}")
    except LocalSpecError as error:
        yield Check(part.name, CheckOutcome.FAIL, f"A reply broke off: {error.message}")


@dataclass(frozen=True, slots=True)
class _Part:
    """One check on its way."""

    name: str
    checks: Iterator[Check | None]
    steps_n: int
    step_tokens: int
    """The most tokens that a step takes, for the share of the work that is done."""

    @property
    def tokens_n(self) -> int:
        return self.steps_n * self.step_tokens


def _parts(pair: ScorablePair, plan: ExaminationPlan, audit: RoundAudit) -> list[_Part]:
    speculation, sampling, seed = plan.speculation, plan.sampling, plan.seed
    greedy = GreedyTest(pair, speculation, plan.tokens, audit)
    sampled = SampledTest(pair, speculation, sampling, plan.opening_n, plan.false_alarm, seed, audit)
    likelihood = LikelihoodTest(pair, speculation, sampling, plan.tokens, plan.false_alarm, seed, audit)
    places = plan.short if plan.places else ()
    parts = [
        _Part("greedy", greedy.check(plan.prompts), len(plan.prompts), 3 * plan.tokens),
        _Part(
            "sampled",
            sampled.check(places, plan.places, plan.samples_n),
            plan.places * plan.samples_n,
            2 * (plan.opening_n + 1),
        ),
    ]
    if not sampling.greedy:
        steps_n = len(plan.short) * plan.replies_n
        parts.append(_Part("likelihood", likelihood.check(plan.short, plan.replies_n), steps_n, 3 * plan.tokens))
    if plan.structured_n:
        structured = StructuredTest(pair, speculation, sampling, seed, audit)
        parts.append(_Part("json", structured.check(plan.structured_n), plan.structured_n, 2 * plan.tokens))
    return parts
