"""``localspec pairs add``, ``rm`` and ``prune``: the user's own pairs, and unused files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote

import click

from localspec.base.errors import NotFoundError, UsageError
from localspec.base.visible import visible_line
from localspec.cli.services import Services, confirmed
from localspec.cli.tables import columns
from localspec.cli.values import PathParam
from localspec.models.pairs.leftovers import Leftover, find_leftovers
from localspec.models.pairs.references import Resolved
from localspec.models.pairs.removal import Removal, carry_out, delete, plan_removal
from localspec.runtime.figures import size

_NEXT = {True: "chat --pair", False: "pairs pull"}
_SETTING = "model.pair"
_YES = click.option("--yes", is_flag=True, help="Do it without asking.")


@click.command(short_help="Add a pair of your own.")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=PathParam())
@click.option("--target", metavar="X", help="The large model: a file, or owner/name:file of the Hub.")
@click.option("--draft", metavar="Y", help="The draft or head, named likewise; without it those that fit are listed.")
@click.option("--projector", metavar="Z", help="The projector through which X reads images, named likewise.")
@click.option("--id", "pair_id", metavar="ID", help="What --pair will take (default: from the name of the target).")
@click.option("--title", metavar="TEXT", help="What people read (default: the names of the models).")
@click.option("--alone", is_flag=True, help="Add the target without a draft.")
def add(
    paths: Sequence[Path],
    target: str | None,
    draft: str | None,
    projector: str | None,
    pair_id: str | None,
    title: str | None,
    alone: bool,
) -> None:
    """Add a pair of your own to pairs.toml. A target with MTP layers drafts for itself, and needs no --draft.

    Each PATH is a file or a folder on this machine: every model there becomes a pair, with the best draft among them or
    alone.

    X, Y and Z are paths, owner/name:FILE, owner/name:QUANTISATION, owner/name of a repository with one model, or names
    that `localspec pairs scan` lists. Files on this machine stay where they are; of remote ones only the header is
    fetched, to check that they fit.
    """
    from localspec.models.download.context import open_context
    from localspec.models.download.model_header import resolve
    from localspec.models.pairs.addition import add_pair, brings_mtp
    from localspec.models.pairs.state import HERE, state_of

    if paths:
        if target or draft or projector or pair_id or title or alone:
            raise UsageError("Paths and options contradict each other.", "Name paths alone, or --target.")
        _collect(paths)
        return
    if target is None:
        raise UsageError("Nothing is named that could be added.", "Name files or folders, or one model with --target.")
    if alone and draft is not None:
        raise UsageError("--alone and --draft contradict each other.", "Leave one of them out.")
    with open_context() as context:
        big = resolve(target, context)
        small = resolve(draft, context) if draft else None
        reader = resolve(projector, context) if projector else None
    if draft is None and not alone and not brings_mtp(big):
        _suggest(big, target)
        return
    pair, file = add_pair(big, small, reader, pair_id=pair_id, title=title)
    is_here = state_of(pair).state == HERE
    print(f"Added {pair.id} to {file}. {'Try' if is_here else 'Fetch'} it: localspec {_NEXT[is_here]} {pair.id}")


def _collect(paths: Sequence[Path]) -> None:
    """Add what is in files and folders. Raises NotFoundError if nothing could be added."""
    from localspec.models.pairs.collecting import collect

    collected = collect(paths)
    added = [each.pair for each in collected if each.pair is not None]
    for each in collected:
        what = f"Added {each.pair.id}: {each.pair.title}" if each.pair else f"Left out {each.path}. {each.reason}"
        print(visible_line(what))
    if not added:
        raise NotFoundError("Nothing was added.", "`localspec pairs list` shows what is known already.")
    print(visible_line(f"Try one: localspec chat --pair {added[0].id}"))


def _suggest(target: Resolved, named: str) -> None:
    """List drafts to choose from. Raises NotFoundError, with pairs of the family, if there are none."""
    from localspec.models.pairs.addition import relatives, suggest_drafts
    from localspec.models.pairs.scan import find_files

    beside = () if target.model.repo else (target.path.parent,)
    suggestions = suggest_drafts(target, find_files(beside))
    if not suggestions:
        near = ", ".join(pair.id for pair in relatives(target))
        known = (
            f"These pairs have a draft of its family: {near}."
            if near
            else "`localspec pairs list` shows which drafts there are."
        )
        raise NotFoundError(
            f"No file here can draft for {target.path.name}: "
            "no model has its vocabulary and 1/20 to 1/4 of its size, and no head is for it.",
            f"{known} Or add the target --alone.",
        )
    print(visible_line(f"Drafts on this machine for {target.path.name}, the best first:"))
    print("\n".join(columns([(f"  {each.name}", size(each.size_bytes), each.reason) for each in suggestions])))
    print(f"Add one: localspec pairs add --target {quote(named)} --draft {quote(suggestions[0].name)}")


@click.command(short_help="Remove a pair and the files only it uses.")
@click.argument("pair_id", metavar="ID")
@_YES
@click.pass_obj
def rm(services: Services, /, pair_id: str, yes: bool) -> None:
    """Remove the pair ID: its table in pairs.toml, and its files in the cache of the Hub that no other pair uses.

    The files to remove are listed first. Files elsewhere are never touched.
    """
    from localspec.config import read_config, setting
    from localspec.config.file import write_value

    removal = plan_removal(pair_id)
    config = read_config()
    is_set = config.values.get(_SETTING) == removal.pair.id
    print("\n".join(map(visible_line, _removal_lines(removal))))
    if is_set:
        print(f"It is the pair that LocalSpec begins with; {_SETTING} is removed from {config.path}.")
    if confirmed(services, "Remove?", "Nothing was removed", yes=yes):
        carry_out(removal)
        if is_set:
            write_value(setting("pair"), None)
        print(f"Removed; {size(removal.freed_bytes)} freed." if removal.names else "Removed.")


def _removal_lines(removal: Removal) -> list[str]:
    lines = [f"This is removed with {removal.pair.id}:"]
    if removal.table:
        lines.append("  its table in pairs.toml")
    lines += [f"  {path}" for path in removal.names]
    lines.append(f"This frees {size(removal.freed_bytes)}." if removal.names else "No file is removed.")
    return [*lines, *removal.kept]


@click.command(short_help="Find leftovers in the cache of the Hub, and remove them.")
@_YES
@click.option(
    "--json", "as_json", is_flag=True, help="Write the leftovers as a JSON array; remove them only with --yes."
)
@click.pass_obj
def prune(services: Services, /, yes: bool, as_json: bool) -> None:
    """Find unused files in the cache of the Hub, and remove them: unfinished downloads, and files without a name.

    Files written in the last ten minutes stay, because their download may still be running.
    """
    found = find_leftovers()
    going = [each for each in found if not each.in_use]
    if as_json:
        print(json.dumps([asdict(each) | {"path": str(each.path)} for each in found], indent=2))
        if yes:
            delete(each.path for each in going)
        return
    if not found:
        print("There are no leftovers.")
        return
    print("\n".join(columns([_row(each) for each in found])))
    total = sum(each.size_bytes for each in going)
    print(f"Removing what is not in use frees {size(total)}.")
    if going and confirmed(services, "Remove?", "Nothing was removed", yes=yes):
        delete(each.path for each in going)
        print(f"Removed; {size(total)} freed.")


def _row(each: Leftover) -> tuple[str, ...]:
    return size(each.size_bytes), each.kind + (" (in use)" if each.in_use else ""), each.repo, Path(each.path).name
