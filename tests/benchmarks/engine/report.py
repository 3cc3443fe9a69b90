"""A result file as Markdown tables."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from tests.benchmarks.engine.server import SPEC_TYPES
from tests.benchmarks.engine.summary import OWN_AUTO, OWN_PLAIN, SERVER_PLAIN, Cell, Speeds, losses


def markdown(result: dict[str, Any]) -> str:
    """All tables of one result."""
    rows = result["rows"]
    speeds = Speeds.of(rows)
    lines = [f"### {result['target']} with {result['draft']}", "", _conditions(result), ""]
    for temperature in speeds.temperatures:
        cells = speeds.cells(temperature)
        best = speeds.best_server(cells)
        lines += [f"#### Temperature {temperature:g}", "", *_contestants(speeds, cells, best), ""]
        lines += [*_kinds(speeds, cells, best), "", *_prompts(speeds, cells, best, rows), ""]
        lines += [*_losses(speeds, temperature, best), ""]
    return "\n".join([*lines, *_host_share(rows), "", _agreement(rows), "", _noise(rows)])


def _conditions(result: dict[str, Any]) -> str:
    return (
        f"{result['processor']}, {result['threads']} threads (draft of the server: {result['draft_threads']}), context "
        f"{result['n_ctx']}, at most {result['max_tokens']} tokens, {_repetitions(result['rows'])} repetitions."
    )


def _repetitions(rows: Sequence[dict[str, Any]]) -> int:
    return len({row["repeat"] for row in rows})


def _contestants(speeds: Speeds, cells: list[Cell], best: str | None) -> Iterator[str]:
    """Geometric means over all prompts, the fastest first."""
    yield "| configuration | x plain of its engine | slowest | fastest | prompts slower than plain | x best server |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    rows = []
    for name in speeds.contestants:
        plain = OWN_PLAIN if name.startswith("own:") else SERVER_PLAIN
        ratios = speeds.ratios(name, plain, cells)
        mark = " (best server)" if name == best else ""
        span = f"{min(ratios):.2f} | {max(ratios):.2f} | {sum(r < 1 for r in ratios)}" if ratios else "- | - | -"
        against_best = speeds.mean_ratio(name, best, cells) if best else None
        text = f"| {name}{mark} | {_figure(speeds.mean_ratio(name, plain, cells))} | {span} | {_figure(against_best)} |"
        rows.append((against_best or speeds.mean_ratio(name, plain, cells) or 0.0, text))
    yield from (text for _, text in sorted(rows, reverse=True))


def _kinds(speeds: Speeds, cells: list[Cell], best: str | None) -> Iterator[str]:
    """Ours on automatic by kind of prompt."""
    yield "| kind | own:auto x own:plain | own:auto x best server | best server x plain | own:plain x server:plain |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for kind in [*dict.fromkeys(speeds.kinds.values()), None]:
        chosen = [cell for cell in cells if kind in (None, speeds.kinds[cell[0]])]
        figures = [
            speeds.mean_ratio(OWN_AUTO, OWN_PLAIN, chosen),
            speeds.mean_ratio(OWN_AUTO, best, chosen) if best else None,
            speeds.mean_ratio(best, SERVER_PLAIN, chosen) if best else None,
            speeds.mean_ratio(OWN_PLAIN, SERVER_PLAIN, chosen),
        ]
        if chosen:
            yield f"| {kind or '**all**'} | {' | '.join(map(_figure, figures))} |"


def _prompts(speeds: Speeds, cells: list[Cell], best: str | None, rows: list[dict[str, Any]]) -> Iterator[str]:
    """Tokens per second, one line a prompt; the last column is a server no user can have: the best for each prompt."""
    names = f"own:plain | own:auto | server:plain | {best or 'best server'} | best of all servers here"
    yield f"| prompt | tokens | acceptance | {names} |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
    for cell in cells:
        known = {name: measured[cell] for name, measured in speeds.median.items() if cell in measured}
        servers = {name: speed for name, speed in known.items() if name.startswith("server:")}
        champion = max(servers, key=servers.__getitem__, default=None)
        figures = [_figure(known.get(name or ""), 1) for name in (OWN_PLAIN, OWN_AUTO, SERVER_PLAIN, best)]
        told = f"{servers[champion]:.1f} ({champion})" if champion else "-"
        yield f"| {cell[0]} | {_length(rows, cell)} | {_acceptance(rows, cell)} | {' | '.join(figures)} | {told} |"


def _length(rows: list[dict[str, Any]], cell: Cell) -> str:
    lengths = [row["predicted_n"] for row in rows if (row["prompt"], row["temperature"]) == cell]
    return f"{statistics.median(lengths):.0f}" if lengths else "-"


def _acceptance(rows: list[dict[str, Any]], cell: Cell) -> str:
    """Of depth 3, ours or else the server's; without either, of automatic depth."""
    kinds = ("", *(f"{kind}:" for kind in SPEC_TYPES))
    for name in (*(f"own:{kind}3" for kind in kinds), *(f"server:{kind}3:0" for kind in kinds), OWN_AUTO):
        chosen = [r for r in rows if (r["prompt"], r["temperature"]) == cell and r["contestant"] == name]
        proposed = sum(row["draft_n"] for row in chosen)
        if proposed:
            return f"{sum(row['draft_n_accepted'] for row in chosen) / proposed:.2f}"
    return "-"


def _losses(speeds: Speeds, temperature: float, best: str | None) -> Iterator[str]:
    """Every prompt on which ours on automatic is the slower one."""
    if not any(cell[1] == temperature for cell in speeds.median.get(OWN_AUTO, {})):
        return
    found = losses(speeds, OWN_AUTO, dict.fromkeys(name for name in (OWN_PLAIN, SERVER_PLAIN, best) if name))
    found = [loss for loss in found if loss.cell[1] == temperature]
    if not found:
        yield "own:auto is nowhere slower than own:plain, server:plain or the best server."
        return
    yield "| own:auto is slower on | than | ratio |"
    yield "| --- | --- | ---: |"
    yield from (f"| {loss.cell[0]} | {loss.other} | {loss.ratio:.3f} |" for loss in found)


def _host_share(rows: list[dict[str, Any]]) -> Iterator[str]:
    """What of our time is not llama_decode, what is neither drafting nor verifying, and what our figures leave out."""
    yield "| ours | outside llama.cpp | neither drafting nor verifying | speed told / measured | ms a round |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name in dict.fromkeys(row["contestant"] for row in rows if row["native_ms"] is not None):
        chosen = [row for row in rows if row["contestant"] == name]
        total_ms = sum(row["predicted_ms"] for row in chosen)
        native = sum(row["native_ms"] for row in chosen) / total_ms
        stages = sum(row["draft_ms"] + row["verify_ms"] for row in chosen) / total_ms
        rounds_n = sum(row["rounds_n"] for row in chosen)
        told = statistics.median(row["told_per_second"] / row["predicted_per_second"] for row in chosen)
        yield f"| {name} | {1 - native:.2%} | {1 - stages:.2%} | {told:.4f} | {total_ms / rounds_n:.2f} |"


def _agreement(rows: list[dict[str, Any]]) -> str:
    """Whether greedy replies are the same text; batches of another size may tip a near tie."""
    plain = {row["prompt"]: row["tokens"] for row in rows if row["temperature"] == 0 and row["contestant"] == OWN_PLAIN}
    others = [row for row in rows if row["temperature"] == 0 and row["contestant"] != OWN_PLAIN]
    greedy = [row for row in others if row["prompt"] in plain]
    same = [row for row in greedy if _same(row["tokens"], plain[row["prompt"]])]
    return f"Greedy replies equal to ours at depth 0, token for token: {len(same)} of {len(greedy)}."


def _same(one: list[int], other: list[int]) -> bool:
    """The server leaves out the token that ends the turn."""
    n = min(len(one), len(other))
    return one[:n] == other[:n] and abs(len(one) - len(other)) <= 1


def _noise(rows: list[dict[str, Any]]) -> str:
    """How much of the processors went to others while somebody was measured."""
    shares = [row["others_cpu_s"] / (row["predicted_ms"] / 1e3) for row in rows if row["predicted_ms"] > 0]
    shares.sort()
    if not shares:
        return ""
    p95 = shares[int(0.95 * (len(shares) - 1))]
    return (
        f"Cores taken by everything else meanwhile: median {statistics.median(shares):.2f}, 95th percentile {p95:.2f}."
    )


def _figure(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
