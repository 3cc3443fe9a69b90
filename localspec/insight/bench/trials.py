"""The schedule of a benchmark.

Temperature and load of the machine drift slowly, so all conditions of one prompt are measured in a row, in a random
order each time.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localspec.base.errors import UsageError
from localspec.insight.prompt_sets import BenchPrompt

PLAIN = "plain"
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Condition:
    """A way to make replies: drafters, depth and temperature."""

    spec: tuple[str, ...] | None
    """Drafters by name; None is auto, an empty tuple is plain decoding."""
    depth: int | None
    """None is auto."""
    temperature: float

    @property
    def plain(self) -> bool:
        return self.spec == ()

    @property
    def way(self) -> str:
        """The name of the condition without its temperature: "plain", "auto", "draft+suffix", "draft at 3"."""
        if self.plain:
            return PLAIN
        name = AUTO if self.spec is None else "+".join(self.spec)
        return name if self.depth is None else f"{name} at {self.depth}"


@dataclass(frozen=True, slots=True)
class BenchTrial:
    """One reply to measure."""

    prompt: BenchPrompt
    condition: Condition
    repetition: int


def conditions(
    specs: Sequence[tuple[str, ...] | None], depths: Sequence[int | None], temperatures: Sequence[float]
) -> list[Condition]:
    """Plain decoding and every combination of drafters and depths, for each temperature, without duplicates.

    Raises UsageError for a combination that would be plain decoding again.
    """
    if () in specs or 0 in depths:
        raise UsageError("Plain decoding is measured anyway.", "Leave --spec off and --depth 0 out.")
    listed = []
    for temperature in temperatures:
        listed.append(Condition((), 0, temperature))
        listed += [Condition(spec, depth, temperature) for spec in specs for depth in depths]
    return list(dict.fromkeys(listed))


def schedule(
    prompts: Sequence[BenchPrompt], listed: Sequence[Condition], repetitions: Iterable[int], seed: int
) -> list[BenchTrial]:
    """All trials in random order; those of one prompt and temperature stay together, in each repetition."""
    rng = random.Random(seed)
    temperatures = list(dict.fromkeys(condition.temperature for condition in listed))
    trials: list[BenchTrial] = []
    for repetition in repetitions:
        blocks = [(prompt, temperature) for prompt in prompts for temperature in temperatures]
        rng.shuffle(blocks)
        for prompt, temperature in blocks:
            ways = [condition for condition in listed if condition.temperature == temperature]
            rng.shuffle(ways)
            trials += [BenchTrial(prompt, condition, repetition) for condition in ways]
    return trials
