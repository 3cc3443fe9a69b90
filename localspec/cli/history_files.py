"""``localspec history export`` and ``import``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from localspec.base.amounts import number_of
from localspec.base.errors import UsageError
from localspec.cli.history_store import matching, meant, open_history, to_new_file
from localspec.cli.report import remark
from localspec.cli.values import PathParam

FORMATS = ("markdown", "html", "json", "ndjson")


@click.command(short_help="Write conversations as Markdown, HTML, JSON or NDJSON.")
@click.argument("beginnings", metavar="[ID]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Export every conversation, archived ones too.")
@matching("Export those that `history list --filter FILTER` lists.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    help="Write the branch that was open last, as text (markdown) or as a page with the token colours (html), all "
    "there is, to be imported again (json), or one object a line with the rounds and tokens of every reply (ndjson) "
    "(default: by the ending of FILE, else markdown).",
)
@to_new_file
def export(
    beginnings: Sequence[str], everything: bool, matching: str | None, kind: str | None, output: Path | None
) -> None:
    """Write the conversations ID, or with --all every one, to standard output or to FILE."""
    ways_n = [bool(beginnings), everything, matching is not None].count(True)
    if ways_n != 1:
        message = "Conversations are named in two ways." if ways_n else "No conversation was named to export."
        raise UsageError(message, "Give IDs, --all or --matching, one of them.")
    from localspec.store.files import text_of, write_new

    with open_history() as store:
        ids = [each.heading.id for each in store.conversations()] if everything else meant(store, beginnings, matching)
        if not ids:
            remark("There are no conversations to export.")
        documents = (store.document(each) for each in ids)
        if output is None:
            sys.stdout.writelines(text_of(documents, kind or "markdown"))
        else:
            written = write_new(documents, output, kind)
            print(f"{number_of(len(ids), 'conversation')} written to {written}.", file=sys.stderr)


@click.command("import", short_help="Read conversations from LocalSpec, ChatGPT or LM Studio.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=PathParam())
@click.option("--copy", "copies", is_flag=True, help="Add conversations that are here already once more.")
@click.option("--json", "as_json", is_flag=True, help="Write the ids of what was imported as a JSON object.")
def import_(files: Sequence[Path], copies: bool, as_json: bool) -> None:
    """Read conversations from FILEs, all of them or, if anything is wrong with one, none.

    FILE is what `localspec history export --format json` wrote, ChatGPT's export (the zip file, or conversations.json
    in it), or a conversation.json of LM Studio. Branches come along.
    """
    from localspec.store.files import read_conversations

    documents = [document for file in files for document in read_conversations(file)]
    with open_history(make=True, change=True) as store:
        added = store.add(documents, copies=copies)
    if as_json:
        print(json.dumps({"imported": list(added.new), "known": list(added.known)}, indent=2))
        return
    known = f"; {len(added.known)} skipped, already here (--copy adds them again)" if added.known else ""
    print(f"{number_of(len(added.new), 'conversation')} imported{known}.")
