"""The automatic depth at the prices of an NVIDIA H200, against the best fixed depth of each text.

    python -m tests.benchmarks.gpu_depth
    python -m tests.benchmarks.gpu_depth mtp TRACES

Four drafters, which differ in their prices, draft twelve made-up texts, which differ in how often the drafter is right.
Each reply of 3,000 tokens and of the first 120 is compared with the fixed depth that is best for it, chosen afterwards.
With a kind and the file that ``engine traces`` wrote for such a drafter: recorded replies at that drafter's prices.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from dataclasses import replace
from pathlib import Path

from localspec.engine.costs import Costs, QueryCost
from localspec.gguf.draft_heads import DFLASH, DRAFT, EAGLE3, MTP
from tests.benchmarks.engine.adaptive_replay import adaptive
from tests.benchmarks.engine.replayed import markdown
from tests.benchmarks.engine.traces import Trace
from tests.engine.test_adaptive import World

PLAIN_MS = 3.24
ROUNDS_MS = {1: 3.24, 2: 4.1, 3: 4.4, 4: 4.72, 5: 5.2, 6: 5.75, 7: 6.2, 8: 6.75, 9: 7.2, 12: 7.4, 16: 7.8, 17: 9.2}
"""Measured in replies, by the size of the batch."""
CHANGE_MS, RECORDING_MS = 1.0, 4.0
"""The first batch of another size takes so much longer, and the second."""
WORLD = World(
    {size: ms / PLAIN_MS for size, ms in ROUNDS_MS.items()},
    [],
    resize_s=CHANGE_MS / PLAIN_MS,
    settle_s=RECORDING_MS / PLAIN_MS,
    catch_up_s=0.02,
)
DRAFTERS = {
    "draft model": replace(WORLD, step_s=0.43),
    "small draft model": replace(WORLD, step_s=0.15),
    "MTP": replace(WORLD, step_s=0.24),
    "DFlash": replace(WORLD, step_s=0.75, row_s=0.06, longest=7),
}
DEPTHS = (0, 1, 2, 3, 4, 5, 7, 11, 15)
TOKENS = (3000, 120)


QUERIES_MS = {
    DRAFT: QueryCost(1.2, 0.1),
    MTP: QueryCost(0.6, 0.08),
    EAGLE3: QueryCost(0.65, 0.12),
    DFLASH: QueryCost(1.9, 0.08, row_s=0.06),
}
"""In milliseconds, as replies taught them to the policy; of a draft of 0.5 G parameters and heads of an 8 G target."""


def mixture(mostly: float, now_and_then: float, share: float) -> list[float]:
    """Chances of proposals, a ``share`` of them the second."""
    chance = random.Random(3)
    return [now_and_then if chance.random() < share else mostly for _ in range(400)]


TEXTS = [[chance] for chance in (0.02, 0.3, 0.5, 0.7, 0.8, 0.9, 0.97, 0.995)]
TEXTS += [[0.97] * 40 + [0.1] * 40, mixture(0.99, 0.4, 0.1), mixture(0.99, 0.3, 0.2), mixture(0.95, 0.2, 0.4)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="?", choices=QUERIES_MS, help="the drafter that was recorded")
    parser.add_argument("traces", nargs="?", type=Path, help="a file of engine traces")
    options = parser.parse_args()
    if options.traces:
        recorded(options.kind, options.traces)
    else:
        made_up()


def recorded(kind: str, traces: Path) -> None:
    """Print what recorded replies come to at the prices of this kind of drafter."""
    query = QUERIES_MS[kind].scaled(1e-3)
    rounds_s = {size: ms * 1e-3 for size, ms in ROUNDS_MS.items()}
    costs = Costs(rounds_s, {kind: query}, resize_s=CHANGE_MS * 1e-3, settle_s=RECORDING_MS * 1e-3)
    texts = [Trace.from_dict(trace) for trace in json.loads(traces.read_text())["traces"]]
    print(markdown(texts, costs, {"adaptive": adaptive}))


def made_up() -> None:
    """Print what made-up texts come to."""
    print("| drafter | tokens | of the best fixed depth | least | least, x plain |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, prices in DRAFTERS.items():
        for tokens_n in TOKENS:
            of_best, of_plain = [], []
            for text in TEXTS:
                world = replace(prices, surenesses=text)
                rate = world.play(world.policy(), tokens_n=tokens_n)
                of_best.append(rate / world.best(DEPTHS, tokens_n))
                of_plain.append(rate / world.at_depth(0, tokens_n))
            mean = math.exp(sum(map(math.log, of_best)) / len(of_best))
            print(f"| {name} | {tokens_n} | {mean:.3f} | {min(of_best):.3f} | {min(of_plain):.3f} |")


if __name__ == "__main__":
    main()
