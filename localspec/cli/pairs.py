"""``localspec pairs``: what can be chatted with, what is known about it, and what fits this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from localspec.cli.check import check
from localspec.cli.own_pairs import add, prune, rm
from localspec.cli.pull import pull
from localspec.cli.scan import scan
from localspec.cli.services import Services
from localspec.cli.tables import AMBER, DIM, GREEN, RED, coloured, columns
from localspec.figures import size
from localspec.pairs import Pair, PairDescription, describe_all, load_catalogue
from localspec.pairs.disk_use import disk_bytes
from localspec.pairs.estimate import N_CTX
from localspec.pairs.headers import pair_verdict
from localspec.pairs.state import MISSING

_LEGEND = (
    f"Fit is weights, caches and buffers for a context of {N_CTX} tokens, against the memory that is free; "
    "~ is reckoned from the size of files that are not here.\n"
    "`localspec pairs info ID` says more, and how to get a pair that is not here."
)
_COLOURS = {"green": GREEN, "amber": AMBER, "red": RED}


@click.group(short_help="Find, look at and keep the pairs there are.")
def pairs() -> None:
    """Find, look at and keep the pairs that --pair names."""


@pairs.command("list", short_help="List the pairs, what is on this machine, and what fits it.")
@click.option(
    "--filter", "text", metavar="TEXT", help="List only pairs with TEXT in their id, title, files or licence."
)
@click.option("--json", "as_json", is_flag=True, help="Write the pairs as a JSON array.")
@click.pass_obj
def list_pairs(services: Services, /, text: str | None, as_json: bool) -> None:
    """List the pairs, whether their files are on this machine, and whether they fit it."""
    everything = _described(services)
    shown = [pair for pair in everything if text is None or _mentions(pair, text)]
    if as_json:
        print(json.dumps([to_json(pair) for pair in shown], indent=2))
        return
    if shown:
        header, *lines = columns([("ID", "STATE", "SIZE", "FIT", "LICENCE", "TITLE"), *map(_row, shown)])
        print(header)
        for pair, line in zip(shown, lines, strict=True):
            print(coloured(line, _colour(pair)))
    else:
        print(f"No pair has {text!r} in its id, title, files or licence.")
    held = disk_bytes(load_catalogue().pairs)
    print(f"\n{_recommendation(everything)}\n{_LEGEND}")
    print(f"On disk: {size(held)}, files that several pairs share counted once.")


@pairs.command(short_help="Show all that is known about a pair.")
@click.argument("pair_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Write the pair as a JSON object.")
@click.pass_obj
def info(services: Services, /, pair_id: str, as_json: bool) -> None:
    """Show all that is known about the pair ID."""
    pair = load_catalogue().find(pair_id)
    described = next(each for each in _described(services) if each.id == pair.id)
    verdict = pair_verdict(pair)
    if as_json:
        match = None if verdict is None else {"fits": verdict.fits, **asdict(verdict)}
        print(json.dumps(to_json(described) | {"sampling": asdict(pair.sampling), "match": match}, indent=2))
        return
    print(described.title)
    print("\n".join(columns([(name, text) for name, text in _facts(described, pair) if text])))
    if verdict is not None:
        told = [verdict.reason] if verdict.reason else ["target and draft speak the same tokens", *verdict.warnings]
        print("\n".join(columns([("match" if not n else "", text) for n, text in enumerate(told)])))


for _command in (pull, check, add, rm, prune, scan):
    pairs.add_command(_command)


def to_json(pair: PairDescription) -> dict[str, Any]:
    """As in every ``--json`` that has pairs in it."""
    record = asdict(pair)
    if pair.fit is not None and pair.memory is not None:
        record["fit"]["word"] = pair.fit.word
        record["memory"]["total"] = pair.memory.total
    return record


def _described(services: Services) -> list[PairDescription]:
    from localspec.doctor.native_probe import room_of

    return describe_all(load_catalogue().pairs, room_of(services.probe_native()))


def _mentions(pair: PairDescription, text: str) -> bool:
    places = (pair.id, pair.title, pair.family, pair.target, pair.draft or "", pair.licence)
    return text.lower() in "\n".join(places).lower()


def _recommendation(described: Sequence[PairDescription]) -> str:
    best = next((pair for pair in described if pair.recommended_here), None)
    return best.recommended_because if best else "No pair fits this machine as it is now; `localspec run` still may."


def _row(pair: PairDescription) -> tuple[str, ...]:
    name = f"{pair.id} *" if pair.recommended_here else pair.id
    return name, pair.state, size(pair.size_bytes), _fit(pair), pair.licence or "-", _title(pair)


def _title(pair: PairDescription) -> str:
    """With the reason against it, if there is one."""
    reasons = []
    if not pair.recommended:
        reasons.append("gains little")
    if not pair.available and pair.drafter != "draft":
        reasons.append(f"waits for a drafter: {pair.drafter}")
    elif pair.state == MISSING:
        reasons.append(pair.reason.rstrip("."))
    if pair.fit and pair.fit.colour != "green":
        reasons.append(pair.fit.reason[0].lower() + pair.fit.reason[1:].rstrip("."))
    return f"{pair.title} ({'; '.join(reasons)})" if reasons else pair.title


def _fit(pair: PairDescription) -> str:
    if pair.fit is None or pair.fit.need_bytes is None:
        return "unknown"
    about = "" if pair.memory and pair.memory.from_headers else "~"
    return f"{pair.fit.word}: {about}{size(pair.fit.need_bytes)} of {size(pair.fit.room_bytes)}"


def _colour(pair: PairDescription) -> str | None:
    if pair.state == MISSING:
        return DIM
    return _COLOURS.get(pair.fit.colour) if pair.fit else None


def _facts(pair: PairDescription, source: Pair) -> list[tuple[str, str]]:
    sampling = [f"{name} {value:g}" for name, value in asdict(source.sampling).items() if value is not None]
    return [
        ("id", pair.id),
        ("state", f"{pair.state}: {pair.reason}" if pair.reason else pair.state),
        ("to get it", pair.hint),
        ("recommended", pair.recommended_because),
        *_files(pair),
        ("size", size(pair.size_bytes) if pair.size_bytes else ""),
        ("on disk", size(sum(file.disk_bytes or 0 for file in pair.files))),
        ("fit", f"{_fit(pair)}. {pair.fit.reason}" if pair.fit else ""),
        ("memory", _split(pair)),
        ("suits", f"a machine with {pair.memory_gb} GB" if pair.memory_gb else ""),
        ("licence", pair.licence),
        ("sampling", ", ".join(sampling)),
        ("note", pair.note),
        ("speed-up", _speedup(pair)),
        ("source", pair.source),
        ("verified", "" if pair.verified else "no: the name of a file follows its publisher's habit, unseen"),
    ]


def _files(pair: PairDescription) -> list[tuple[str, str]]:
    rows = []
    for name, file in zip(("target", "draft"), pair.files, strict=False):
        rows.append((name, f"{file.label}, {size(file.size_bytes)}"))
        rows.append(("", f"lies at {file.path}" if file.path and file.path != file.label else ""))
    return rows if len(pair.files) == 2 else [*rows, ("draft", "none")]


def _split(pair: PairDescription) -> str:
    if pair.memory is None:
        return ""
    need = pair.memory
    how = "from the files' headers" if need.from_headers else "from sizes, roughly"
    return f"weights {size(need.weights)}, caches {size(need.cache)}, buffers {size(need.compute)} ({how})"


def _speedup(pair: PairDescription) -> str:
    if pair.speedup_high is None:
        return ""
    low = f"{pair.speedup_low:g} to " if pair.speedup_low not in (None, pair.speedup_high) else ""
    return f"{low}{pair.speedup_high:g} times plain speed, as reported by others"
