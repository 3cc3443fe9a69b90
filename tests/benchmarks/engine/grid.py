"""Every contestant with every prompt, back to back, in an order that is drawn anew each time."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from localspec.engine.settings import Sampling
from tests.benchmarks.engine import machine
from tests.benchmarks.engine.case import Case, Contestant, Ready, Run

Row = dict[str, Any]
"""One run with what it was a run of; a line of the result file."""

SHORT_TOKENS = 8
"""Of the reply nobody counts that a fresh server warms up with."""
REST_S = 0.2
"""Between two runs, for the threads of the one before to come to rest."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    max_tokens: int
    temperatures: tuple[float, ...]
    repeats: int
    seed: int
    schema: str | None = None
    budget_s: float | None = None
    """No repetition is begun that would probably end later than this."""


@dataclass(slots=True)
class Grid:
    """The measurement under way."""

    contestants: Sequence[Contestant]
    prompts: Sequence[Ready]
    plan: Plan
    save: Callable[[list[Row]], None]
    """Called after every repetition."""
    rows: list[Row] = field(default_factory=list)
    _warm: dict[str, int] = field(default_factory=dict)

    def measure(self) -> None:
        """Whole repetitions, until there are enough or the time is used up."""
        begun = time.monotonic()
        longest_s = 0.0
        for repeat in range(self.plan.repeats):
            left_s = self.plan.budget_s - (time.monotonic() - begun) if self.plan.budget_s else None
            if repeat and left_s is not None and left_s < longest_s:
                print(f"The time is used up after {repeat} repetitions.", file=sys.stderr)
                return
            repetition_begun = time.monotonic()
            self._repetition(repeat)
            self.save(self.rows)
            longest_s = max(longest_s, time.monotonic() - repetition_begun)

    def _repetition(self, repeat: int) -> None:
        source = random.Random(f"{self.plan.seed} {repeat}")
        cells = [(prompt, temperature) for prompt in self.prompts for temperature in self.plan.temperatures]
        source.shuffle(cells)
        for n, (prompt, temperature) in enumerate(cells, start=1):
            # The text drawn depends on the seed: a new one each time, the same for all contestants.
            seed, plan = source.randrange(2**31), self.plan
            case = Case(prompt, sampling_at(temperature), seed, plan.max_tokens, plan.schema)
            order = list(self.contestants)
            source.shuffle(order)
            rows = [self._row(contestant, case, repeat) for contestant in order]
            self.rows += rows
            print(f"{repeat + 1}: {n}/{len(cells)} {prompt.name} at {temperature:g}: {_fastest(rows)}", file=sys.stderr)

    def _row(self, contestant: Contestant, case: Case, repeat: int) -> Row:
        run, others_s = self._run(contestant, case)
        return {
            "contestant": contestant.name,
            "prompt": case.prompt.name,
            "kind": case.prompt.kind,
            "temperature": case.sampling.temperature,
            "repeat": repeat,
            "seed": case.seed,
            "prompt_n": len(case.prompt.tokens),
            **asdict(run),
            "others_cpu_s": others_s,
        }

    def _run(self, contestant: Contestant, case: Case) -> tuple[Run, float]:
        """The run, and the processor seconds everything else used meanwhile, this process aside."""
        process = contestant.ready()
        if self._warm.get(contestant.name) != process:
            contestant.run(Case(self.prompts[0], Sampling(temperature=0), 0, SHORT_TOKENS, self.plan.schema))
            self._warm[contestant.name] = process
        time.sleep(REST_S)
        busy_s, own_s = machine.busy_s(), machine.process_cpu_s(process)
        run = contestant.run(case)
        return run, (machine.busy_s() - busy_s) - (machine.process_cpu_s(process) - own_s)


def sampling_at(temperature: float) -> Sampling:
    """Temperature 0 is greedy; above it the filters are llama.cpp's usual ones."""
    return Sampling(temperature=temperature, top_k=40, top_p=0.95, min_p=0.05)


def _fastest(rows: list[Row]) -> str:
    def told(engine: str) -> Iterator[str]:
        ours = [row for row in rows if row["contestant"].startswith(engine)]
        if ours:
            best = max(ours, key=lambda row: float(row["predicted_per_second"]))
            yield f"{best['contestant']} {best['predicted_per_second']:.1f} tokens/s"

    return ", ".join([*told("own:"), *told("server:")])
