"""Replays as a table: every policy against plain decoding, and against what could have been."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat

from localspec.engine.costs import Costs
from tests.benchmarks.engine.replay import MakePolicy, Policy, clairvoyant_s, fixed, fixed_policies, replay
from tests.benchmarks.engine.traces import Trace

BEST_DEPTH, HINDSIGHT = "best depth for each prompt", "best depth and p_min for each prompt"
CLAIRVOYANT, KEPT = "clairvoyant", ", kept"


def markdown(traces: Sequence[Trace], costs: Costs, own: Mapping[str, MakePolicy]) -> str:
    """Tables by temperature; ``own`` are policies beside the fixed ones."""
    lines = [_told(costs), ""]
    for temperature in sorted({trace.temperature for trace in traces}):
        chosen = [trace for trace in traces if trace.temperature == temperature]
        found = speed_ups(chosen, costs, own)
        lines += [f"#### Temperature {temperature:g}, {len(chosen)} replies", "", *_table(found), ""]
        lines += [*_by_prompt(chosen, found, [*_names(own), "depth 3", BEST_DEPTH, HINDSIGHT, CLAIRVOYANT]), ""]
    return "\n".join(lines)


def _told(costs: Costs) -> str:
    rounds = ", ".join(f"{batch}: {costs.round_s(batch) * 1e3:.1f}" for batch in sorted(costs.rounds_s))
    ((drafter, query),) = costs.queries.items()
    look = f"{query.step_s * 1e3:.2f}, and {query.catch_up_s * 1e3:.2f} for each token more that it reads"
    block = "" if query.row_s is None else f", {query.row_s * 1e3:.2f} for each place more that it gives"
    return f"Milliseconds by tokens verified at once: {rounds}; a look of {drafter} {look}{block}."


def speed_ups(traces: Sequence[Trace], costs: Costs, own: Mapping[str, MakePolicy]) -> dict[str, list[float]]:
    """By policy, the speed on each trace over that of plain decoding.

    Ours come twice: made anew for every reply, and kept from one to the next as a session keeps them.
    """
    plain_s = [replay(trace, partial(fixed, 0, 0.0), costs).spent_s for trace in traces]

    def ratios(policies: Iterable[Policy]) -> list[float]:
        spent = [replay(trace, policy, costs).spent_s for trace, policy in zip(traces, policies, strict=False)]
        return [plain / cost for plain, cost in zip(plain_s, spent, strict=True)]

    found = {name: ratios(repeat(make(costs))) for name, make in fixed_policies().items()}
    depths = [ratio for name, ratio in found.items() if "p_min" not in name]
    best_depth = [max(at) for at in zip(*depths, strict=True)]
    best = [max(at) for at in zip(*found.values(), strict=True)]
    for name, make in own.items():
        found[name] = ratios(make(costs) for _ in traces)
        found[name + KEPT] = ratios(repeat(make(costs)))
    found[BEST_DEPTH], found[HINDSIGHT] = best_depth, best
    found[CLAIRVOYANT] = [plain / clairvoyant_s(trace, costs) for plain, trace in zip(plain_s, traces, strict=True)]
    return found


def _names(own: Iterable[str]) -> list[str]:
    return [name + kept for name in own for kept in ("", KEPT)]


def _table(found: Mapping[str, Sequence[float]]) -> Iterator[str]:
    yield "| policy | x plain, geometric mean | slowest | fastest | slower than plain |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name, ratios in sorted(found.items(), key=lambda item: -_mean(item[1])):
        slower = sum(ratio < 1 - 1e-9 for ratio in ratios)
        yield f"| {name} | {_mean(ratios):.3f} | {min(ratios):.2f} | {max(ratios):.2f} | {slower} of {len(ratios)} |"


def _by_prompt(traces: Sequence[Trace], found: Mapping[str, Sequence[float]], columns: Sequence[str]) -> Iterator[str]:
    yield "| prompt | tokens | first guess right | " + " | ".join(columns) + " |"
    yield "| --- | ---: | ---: |" + " ---: |" * len(columns)
    for n, trace in enumerate(traces):
        right = statistics.fmean(place.matched > 0 for place in trace.places)
        figures = " | ".join(f"{found[name][n]:.2f}" for name in columns)
        yield f"| {trace.prompt} | {len(trace.text)} | {right:.2f} | {figures} |"


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))
