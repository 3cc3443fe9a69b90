"""``localspec pairs``: lists and describes pairs, with their fit to this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from localspec.base.visible import visible_line
from localspec.chat.pairs.facts import (
    FIT_MEANING,
    NOTHING_FITS,
    SPEED_MEANING,
    SPEED_UNKNOWN,
    drawbacks,
    facts,
    fit,
    mentions,
    need,
    pace,
)
from localspec.cli.check import check
from localspec.cli.hub_models import draft, search, show
from localspec.cli.own_pairs import add, prune, rm
from localspec.cli.pull import pull
from localspec.cli.scan import scan
from localspec.cli.services import Services
from localspec.cli.tables import (
    AMBER,
    DIM,
    GREEN,
    RED,
    Column,
    cells,
    coloured,
    fitted,
    named,
    padded,
    paragraph,
    width,
)
from localspec.gguf.draft_heads import DRAFT
from localspec.models.pairs import Pair, PairDescription, describe_all, load_catalogue
from localspec.models.pairs.embedder import find_embedder, passages_found_by
from localspec.models.pairs.expectation import EXPECTED
from localspec.models.pairs.state import MISSING, disk_bytes, pair_verdict
from localspec.runtime.figures import size

_MORE = "`localspec pairs info ID` says more, and how to get a pair that is not here."
_COLUMNS = (
    Column("ID", lambda pair: f"{pair.id} *" if pair.recommended_here else pair.id),
    Column("STATE", lambda pair: pair.state),
    Column("SIZE", lambda pair: size(pair.size_bytes)),
    Column("FIT", fit, short=lambda pair: f"{pair.fit.word}: {need(pair)}" if pair.fit and need(pair) else "unknown"),
    Column("TITLE", lambda pair: pair.title, optional=True),
    Column("LICENCE", lambda pair: pair.licence or "-", optional=True),
)
_SPEED_FROM = 78
"""The width from which there is room for the speed beside what is always listed."""
_SPEED = Column("TOKENS/S", lambda pair: pace(pair) or "-")
_COLOURS = {"green": GREEN, "amber": AMBER, "red": RED}


@click.group(short_help="List, download, check and remove pairs of models.", invoke_without_command=True)
@click.pass_context
def pairs(context: click.Context, /) -> None:
    """List, download, check and remove the pairs that --pair names. Without a command they are listed."""
    if context.invoked_subcommand is None:
        context.invoke(list_pairs)


@pairs.command("list", short_help="List the pairs, what is on this machine, and what fits it.")
@click.option(
    "--filter", "text", metavar="TEXT", help="List only pairs with TEXT in their id, title, files or licence."
)
@click.option("--json", "as_json", is_flag=True, help="Write the pairs as a JSON array.")
@click.pass_obj
def list_pairs(services: Services, /, text: str | None, as_json: bool) -> None:
    """List the pairs, whether their files are on this machine, and whether they fit it.

    Columns are left out on a narrow terminal; * marks the pair recommended for this machine.
    """
    everything = _described(services)
    shown = [pair for pair in everything if text is None or mentions(pair, text)]
    if as_json:
        print(json.dumps([to_json(pair) for pair in shown], indent=2))
        return
    if shown:
        _print(shown)
    else:
        print(f"No pair has {text!r} in its id, title, files or licence.")
    held = disk_bytes(load_catalogue().pairs)
    disk = f"On disk: {size(held)}, files that several pairs share counted once."
    print()
    speeds = [SPEED_MEANING] if _timed(shown) else []
    if not any(pair.speed and pair.speed.source == EXPECTED for pair in everything):
        speeds.append(SPEED_UNKNOWN)
    for line in (_recommendation(everything), FIT_MEANING, *speeds, _MORE, disk):
        print(paragraph(line))


@pairs.command(short_help="Show all that is known about a pair.")
@click.argument("pair_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Write the pair as a JSON object.")
@click.pass_obj
def info(services: Services, /, pair_id: str, as_json: bool) -> None:
    """Show all that is known about the pair ID."""
    pair = load_catalogue().find(pair_id)
    described = next(each for each in _described(services) if each.id == pair.id)
    from localspec.runtime.calls.form import calls_of

    calls = calls_of(pair)
    verdict, embedder = pair_verdict(pair), find_embedder(os.environ)
    if as_json:
        fits = None if verdict is None else {"fits": verdict.fits, **asdict(verdict)}
        more = {"sampling": asdict(pair.sampling), "match": fits, "calls_tools": calls or None}
        more["embedder"] = embedder.name if embedder else None
        print(json.dumps(to_json(described) | more, indent=2))
        return
    print(visible_line(described.title))
    tools = [("calls tools", calls)] if calls else []
    passages = [("passages", f"of attached files are found by {passages_found_by(embedder)}")]
    sentences: Sequence[str] = ()
    if verdict is not None:
        sentences = [verdict.reason] if verdict.reason else [_match(pair), *verdict.warnings]
    match = [("match" if not n else "", text) for n, text in enumerate(sentences)]
    print("\n".join(named([*facts(described), *_sampling(pair), *tools, *passages, *match])))


for _command in (search, show, draft, pull, check, add, rm, prune, scan):
    pairs.add_command(_command)


def to_json(pair: PairDescription) -> dict[str, Any]:
    """The object of a pair for ``--json``."""
    record = asdict(pair)
    if pair.fit is not None and pair.memory is not None:
        record["fit"]["word"] = pair.fit.word
        record["memory"]["total"] = pair.memory.total
    return record


def _described(services: Services) -> list[PairDescription]:
    from localspec.doctor.native_probe import expect_here, room_of

    native = services.probe_native()
    return describe_all(load_catalogue().pairs, room_of(native), expect_here(native))


def _print(shown: Sequence[PairDescription]) -> None:
    """A row for each pair, with its drawbacks behind or below it."""
    columns = (*_COLUMNS[:4], _SPEED, *_COLUMNS[4:]) if _timed(shown) else _COLUMNS
    header, *lines = fitted(columns, shown)
    reasons = ["; ".join(drawbacks(pair)) for pair in shown]
    longest = max(map(cells, [header, *lines]))
    beside = longest + 2 + max(map(cells, reasons)) <= width()
    print(header)
    for pair, line, reason in zip(shown, lines, reasons, strict=True):
        print(coloured(f"{padded(line, longest)}  {reason}".rstrip() if beside else line, _colour(pair)))
        if reason and not beside:
            print(coloured(paragraph(reason, indent="  "), DIM))


def _timed(shown: Sequence[PairDescription]) -> bool:
    return width() >= _SPEED_FROM and any(pair.speed for pair in shown)


def _recommendation(described: Sequence[PairDescription]) -> str:
    best = next((pair for pair in described if pair.recommended_here), None)
    return best.recommended_because if best else NOTHING_FITS


def _colour(pair: PairDescription) -> str | None:
    if pair.state == MISSING:
        return DIM
    return _COLOURS.get(pair.fit.colour) if pair.fit else None


def _match(pair: Pair) -> str:
    if pair.drafter == DRAFT:
        return "target and draft have the same vocabulary"
    return "the head reads what the target gives" if pair.draft else "the target has its MTP layers"


def _sampling(pair: Pair) -> list[tuple[str, str]]:
    chosen = [f"{name} {value:g}" for name, value in asdict(pair.sampling).items() if value is not None]
    return [("sampling", ", ".join(chosen))] if chosen else []
