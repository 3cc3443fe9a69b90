"""How often trials decide wrongly, and how soon rightly: simulated, with fixed seeds.

    python -m tests.benchmarks.trials_errors [TRIALS]

A line for each kind of candidate: how trials ended, and after how many turns half and 95 % of them had.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from localspec.insight.trials.trial import Change
from tests.insight.trials.support import TRIAL, World, outcome_of

STICKY = replace(TRIAL, changes=(Change("draft", Path("a.gguf"), Path("b.gguf")),))
KINDS = {
    "alike": (TRIAL, World()),
    "alike, wandering talk, a machine that heats up": (TRIAL, World(wandering=True)),
    "alike, on half of turns": (replace(TRIAL, share=0.5), World()),
    "alike, whole conversations": (STICKY, World(turns_n=4, of_conversation=0.3)),
    "10 % slower": (TRIAL, World(ratio=0.9)),
    "20 % slower": (TRIAL, World(ratio=0.8)),
    "20 % slower, wandering talk": (TRIAL, World(ratio=0.8, wandering=True)),
    "20 % slower, like replies vary by 30 %": (TRIAL, World(ratio=0.8, noise=0.3)),
    "20 % slower, whole conversations": (STICKY, World(ratio=0.8, turns_n=4, of_conversation=0.1)),
    "25 % faster": (TRIAL, World(ratio=1.25)),
}


def main(trials_n: int) -> None:
    """Print the table."""
    for name, (trial, world) in KINDS.items():
        ends = [outcome_of(trial, world, seed) for seed in range(trials_n)]
        outcomes = Counter(str(verdict.outcome) for verdict, _ in ends)
        units = sorted(units_n for _, units_n in ends)
        shares = ", ".join(f"{outcome} {100 * n / trials_n:.1f} %" for outcome, n in outcomes.most_common())
        when = f"half after {units[trials_n // 2]}, 95 % after {units[trials_n * 95 // 100]} {trial.units}"
        print(f"{name}: {shares}; {when}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
