"""``localspec pairs``: what can be chatted with, and what is known about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import click

from localspec.figures import size
from localspec.pairs import Pair, PairDescription, describe, load_catalogue

_LEGEND = "`localspec pairs info ID` says more, and how to get a pair that is not here."


@click.group(short_help="Look at the pairs there are.")
def pairs() -> None:
    """Look at the pairs that --pair names."""


@pairs.command("list", short_help="List the pairs, and whether their files are on this machine.")
@click.option("--json", "as_json", is_flag=True, help="Write the pairs as a JSON array.")
def list_pairs(as_json: bool) -> None:
    """List the pairs, and whether their files are on this machine."""
    described = [describe(pair) for pair in load_catalogue().pairs]
    if as_json:
        print(json.dumps([asdict(pair) for pair in described], indent=2))
        return
    rows = [_row(pair) for pair in described]
    print(_columns([("ID", "HERE", "SIZE", "MEMORY", "TITLE"), *rows]))
    print(f"\n{_LEGEND}")


@pairs.command(short_help="Show all that is known about a pair.")
@click.argument("pair_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Write the pair as a JSON object.")
def info(pair_id: str, as_json: bool) -> None:
    """Show all that is known about the pair ID."""
    pair = load_catalogue().find(pair_id)
    described = describe(pair)
    if as_json:
        print(json.dumps(asdict(described) | {"sampling": asdict(pair.sampling)}, indent=2))
        return
    print(described.title)
    print(_columns([(name, text) for name, text in _facts(described, pair) if text]))


def _row(pair: PairDescription) -> tuple[str, ...]:
    title = pair.title if pair.recommended else f"{pair.title} (gains little)"
    return pair.id, "yes" if pair.available else "no", size(pair.size_bytes), _memory(pair), title


def _memory(pair: PairDescription) -> str:
    return f"{pair.memory_gb} GB" if pair.memory_gb else "-"


def _facts(pair: PairDescription, source: Pair) -> list[tuple[str, str]]:
    sampling = [f"{name} {value:g}" for name, value in asdict(source.sampling).items() if value is not None]
    return [
        ("id", pair.id),
        ("here", "yes" if pair.available else f"no: {pair.reason}"),
        ("to get it", pair.hint),
        ("target", pair.target),
        ("draft", pair.draft or "none"),
        ("size", size(pair.size_bytes) if pair.size_bytes else ""),
        ("memory", f"suits a machine with {pair.memory_gb} GB" if pair.memory_gb else ""),
        ("licence", pair.licence),
        ("sampling", ", ".join(sampling)),
        ("note", pair.note),
        ("source", pair.source),
        ("verified", "" if pair.verified else "no: the name of a file follows its publisher's habit, unseen"),
    ]


def _columns(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows with their columns under each other; the last one may be as long as it likes."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = ("  ".join((*map(str.ljust, row, widths), row[-1])) for row in rows)
    return "\n".join(lines)
