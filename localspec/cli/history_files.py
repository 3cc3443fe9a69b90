"""``localspec history export`` and ``import``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from localspec.base.amounts import number_of
from localspec.base.errors import UsageError
from localspec.cli.history_store import matching, meant, open_history, to_new_file
from localspec.cli.report import remark
from localspec.cli.values import PathParam

if TYPE_CHECKING:
    from localspec.store import ConversationDocument

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
    kind = kind or _kind_of(output)
    with open_history() as store:
        ids = [each.heading.id for each in store.conversations()] if everything else meant(store, beginnings, matching)
        if not ids:
            remark("There are no conversations to export.")
        text = _written((store.document(each) for each in ids), kind)
        if output is None:
            sys.stdout.writelines(text)
        else:
            from localspec.store.files import new_file, with_images_beside

            with new_file(output) as file:
                if kind == "markdown":
                    text = iter([with_images_beside("".join(text), output)])
                file.writelines(text)
            print(f"{number_of(len(ids), 'conversation')} written to {output}.", file=sys.stderr)


def _kind_of(output: Path | None) -> str:
    """The format by the suffix of the file. Raises UsageError for an unknown suffix."""
    from localspec.store.files import kind_of

    return kind_of(output) if output is not None else "markdown"


def _written(documents: Iterator[ConversationDocument], kind: str) -> Iterator[str]:
    from localspec.store.files import to_html, to_json, to_markdown, to_ndjson

    if kind == "json":
        yield to_json(list(documents)) + "\n"
        return
    if kind == "html":
        yield to_html(list(documents))
        return
    for number, document in enumerate(documents):
        if kind == "ndjson":
            yield from (f"{line}\n" for line in to_ndjson(document))
        else:
            yield "\n---\n\n" if number else ""
            yield to_markdown(document)


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
    with open_history(make=True) as store:
        added = store.add(documents, copies=copies)
    if as_json:
        print(json.dumps({"imported": list(added.new), "known": list(added.known)}, indent=2))
        return
    known = f"; {len(added.known)} skipped, already here (--copy adds them again)" if added.known else ""
    print(f"{number_of(len(added.new), 'conversation')} imported{known}.")
