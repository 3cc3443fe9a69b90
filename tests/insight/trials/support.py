"""Trials whose replies cost nothing, and chats in which all is drawn by chance."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache

from localspec.engine.settings import Sampling
from localspec.engine.tally import Tally
from localspec.insight.trials.assignment import arm_of
from localspec.insight.trials.comparison import TrialComparison, TrialVerdict
from localspec.insight.trials.trial import Change, Trial
from localspec.runtime.messages import ReplyOptions
from localspec.store import Arm, ModelFileRecord, ReplyMetadata, ReplyRecord, ReplyState

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)
TRIAL = Trial("0badcafe", "a-pair", (Change("depth", None, 6),), NOW)
TEXTS = {
    "code": "```python\nprint(1)\n```\n",
    "json": '{"answer": [1, 2]}',
    "list": "- one\n- two\n- three\n",
    "prose": "The sea is blue because water takes the red out of the light that falls into it from above, they say. ",
}
USUAL_SPEED = {"code": 60.0, "json": 75.0, "list": 45.0, "prose": 30.0}


@dataclass(frozen=True, slots=True)
class World:
    """How replies come about."""

    ratio: float = 1.0
    """Speed of the candidate over that of the incumbent."""
    noise: float = 0.15
    """Standard deviation of the logarithm of the speed, within a subject."""
    wait: float = 1.0
    """As ``ratio``, for the time to the first token."""
    fails: float = 0.0
    """How probable it is that a reply of the candidate fails."""
    fails_else: float = 0.0
    of_conversation: float = 0.0
    """Standard deviation of what a whole conversation has in common."""
    turns_n: int = 1
    """Of a conversation."""
    wandering: bool = False
    """Whether the talk turns from subject to subject in long stretches, while the machine gets hotter and colder."""


def replies(trial: Trial, world: World, seed: int) -> Iterator[ReplyRecord]:
    """Without end, as the store would give them, oldest first."""
    rng = random.Random(seed)
    subjects = list(TEXTS)
    place = 0
    while True:
        conversation, common = f"{rng.getrandbits(64):016x}", rng.gauss(0, world.of_conversation)
        for _ in range(world.turns_n):
            place += 1
            question = f"{rng.getrandbits(64):016x}"
            arm = arm_of(trial.id, conversation if trial.sticky else question, trial.share)
            subject = subjects[place // 25 % 4] if world.wandering else rng.choice(subjects)
            heat = 0.3 * math.sin(place / 40) if world.wandering else 0.0
            log_speed = math.log(USUAL_SPEED[subject]) + common + heat + rng.gauss(0, world.noise)
            ours = arm is Arm.CANDIDATE
            run = run_of(
                trial,
                arm,
                speed=math.exp(log_speed) * (world.ratio if ours else 1.0),
                ttft_s=rng.uniform(0.1, 0.5) * (world.wait if ours else 1.0),
                place=place,
                question=question,
                conversation=conversation,
                text=TEXTS[subject],
            )
            failed = rng.random() < (world.fails if ours else world.fails_else)
            yield replace(run, state=ReplyState.FAILED) if failed else run


def run_of(
    trial: Trial,
    arm: Arm | None,
    *,
    speed: float = 40.0,
    ttft_s: float | None = 0.2,
    place: int = 1,
    question: str = "q",
    conversation: str = "c",
    text: str = TEXTS["prose"],
) -> ReplyRecord:
    """One reply."""
    tally = Tally(prompt_n=100, predicted_n=80, predicted_s=80 / speed, draft_n=120, draft_n_accepted=50, rounds_n=30)
    return ReplyRecord(
        place=place,
        message=f"m{place}",
        at=NOW + timedelta(minutes=place),
        state=ReplyState.DONE,
        about=_about(trial, arm),
        timings=tally.timings(),
        prompt_n=400,
        ttft_s=ttft_s,
        text=text,
        question=question,
        conversation=conversation,
    )


@cache
def _about(trial: Trial, arm: Arm | None) -> ReplyMetadata:
    target, draft = ModelFileRecord("target.gguf"), ModelFileRecord("draft.gguf")
    options = ReplyOptions(Sampling(temperature=0.8))
    return ReplyMetadata(options, target, draft, trial.pair, 20.0, trial=trial.id, arm=arm)


def outcome_of(trial: Trial, world: World, seed: int) -> tuple[TrialVerdict, int]:
    """How the trial ends, looked at after every reply; and after how many units."""
    # Another id draws other sides for the same seed.
    trial = replace(trial, id=f"{random.Random(seed).getrandbits(32):08x}")
    comparison = TrialComparison(trial)
    for run in replies(trial, world, seed):
        comparison.receive(run)
        verdict = comparison.verdict()
        if verdict is not None:
            return verdict, comparison.units_n
    raise AssertionError("replies do not end")
