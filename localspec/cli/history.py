"""``localspec history``: conversations on the command line, without a model."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from localspec.base.terminal_stream import is_utf8
from localspec.cli.history_disagreements import disagreements
from localspec.cli.history_files import export, import_
from localspec.cli.history_headings import archive, file, pin, rename
from localspec.cli.history_rm import restore, rm
from localspec.cli.history_store import open_history
from localspec.cli.values import ValueParam
from localspec.config.kinds import Number

if TYPE_CHECKING:
    from localspec.store import ListedConversation, Store

_AS_JSON = "as_json"


@click.group(short_help="Find, read, export and import conversations.", invoke_without_command=True)
@click.pass_context
def history(context: click.Context, /) -> None:
    """Find, read, export and import the conversations of the chat.

    An ID may be shortened as long as it is unique. No model is needed. Without a command the conversations are
    listed.
    """
    if context.invoked_subcommand is None:
        context.invoke(list_conversations)


@history.command("list", short_help="List the conversations, the latest first.")
@click.option(
    "--filter",
    "text",
    metavar="TEXT",
    help="List only titles that have the letters of TEXT in their order; "
    "tag:NAME and folder:NAME in it keep what is filed there.",
)
@click.option("--archived", is_flag=True, help="List those in the archive instead.")
@click.option("--limit", type=ValueParam(Number(1, whole=True)), metavar="N", help="List at most N.")
@click.option("--deleted", is_flag=True, help="List those that were deleted in the last 30 days instead.")
@click.option("--json", _AS_JSON, is_flag=True, help="Write the conversations as a JSON array.")
def list_conversations(text: str | None, archived: bool, limit: int | None, deleted: bool, as_json: bool) -> None:
    """List the conversations that are not in the archive: pinned ones first, then the latest."""
    from localspec.chat.history import kept
    from localspec.store.files.native_json import heading_to_dict

    with open_history() as store:
        everything = store.conversations(deleted=deleted)
        place = "is:archived" if archived else "is:any" if deleted else ""
        matches = kept(everything, f"{text or ''} {place}")
        shown = matches[:limit]
        if as_json:
            print(json.dumps([heading_to_dict(e.heading) | {"messages_n": e.messages_n} for e in shown], indent=2))
        elif shown:
            print("\n".join(_listed(store, shown, deleted=deleted)))
            _say_what_was_left(len(matches), len(shown))
        else:
            print(_nothing(text if everything else None, archived=archived, deleted=deleted))


def _listed(store: Store, shown: Sequence[ListedConversation], *, deleted: bool) -> Iterator[str]:
    from localspec.cli.history_text import cut
    from localspec.cli.tables import columns
    from localspec.store.filing import Filing
    from localspec.store.timestamps import local_time

    short = store.short_ids(deleted=deleted)
    rows = [
        (
            short[each.heading.id] + (" *" if each.heading.pinned else ""),
            local_time((each.heading.deleted if deleted else None) or each.heading.updated),
            str(each.messages_n),
            " ".join(filter(None, (each.heading.title, str(Filing.of(each.heading))))),
        )
        for each in shown
    ]
    header = ("ID", "DELETED" if deleted else "LAST SAID", "MESSAGES", "TITLE")
    yield from map(cut, columns([header, *rows]))
    if any(each.heading.pinned for each in shown):
        yield "* is pinned."


def _say_what_was_left(all_n: int, shown_n: int) -> None:
    if all_n > shown_n:
        print(f"{all_n - shown_n:,} more; without --limit all are listed.")


def _nothing(text: str | None, *, archived: bool, deleted: bool) -> str:
    if text is not None:
        from localspec.store.filing import FilingFilter

        if FilingFilter.parse(text)[0]:
            more = "" if archived or deleted else " With is:any in the filter, archived ones are listed too."
            return f"No conversation matches {text!r}.{more}"
        return f"No title has the letters of {text!r}. `localspec history search` looks into the messages."
    if archived and not deleted:
        return "The archive is empty. `localspec history archive ID` puts a conversation there."
    if deleted:
        return f"No conversation{' of the archive' if archived else ''} was deleted in the last 30 days."
    return "There are no conversations outside the archive. `localspec` opens the chat, which stores its conversations."


@history.command(short_help="Show a conversation.")
@click.argument("beginning", metavar="ID")
@click.option("--message", metavar="ID", help="Show the branch that has this message, as `history search` names it.")
@click.option("--all", "everything", is_flag=True, help="Show every version of every message, not one branch.")
@click.option("--json", _AS_JSON, is_flag=True, help="Write it as a JSON object, the messages without their tokens.")
def show(beginning: str, message: str | None, everything: bool, as_json: bool) -> None:
    """Show the conversation ID: the branch that was open last, as plain text."""
    from localspec.base.errors import UsageError
    from localspec.cli.history_text import chosen, conversation_lines, shown_to_dict

    if message is not None and everything:
        raise UsageError("--message and --all contradict each other.", "Leave one of them out.")
    with open_history() as store:
        conversation = store.open_conversation(store.find(beginning))
        nodes = chosen(conversation.tree, message, everything=everything)
        if as_json:
            print(json.dumps(shown_to_dict(conversation, nodes), indent=2, ensure_ascii=not is_utf8(sys.stdout)))
            return
        short = store.short_ids()[conversation.id]
        print("\n".join(conversation_lines(conversation, nodes, short)))


@history.command(short_help="Find words in all conversations.")
@click.argument("words", metavar="WORDS", nargs=-1, required=True)
@click.option(
    "--limit",
    type=ValueParam(Number(1, whole=True)),
    metavar="N",
    default=20,
    show_default=True,
    help="Show at most N hits.",
)
@click.option("--json", _AS_JSON, is_flag=True, help="Write the hits as a JSON array.")
def search(words: Sequence[str], limit: int, as_json: bool) -> None:
    """Find messages and titles that have all of WORDS, on every branch, the best and latest first.

    A word finds all that begin with it; "in double quotes" words are found as they stand. tag:NAME and folder:NAME
    search what is filed there, is:archived the archive, and is:any everything.
    """
    from localspec.cli.history_text import hit_lines, hit_to_dict

    query = " ".join(words)
    with open_history() as store:
        hits = store.search(query, limit)
        if as_json:
            print(json.dumps([hit_to_dict(hit) for hit in hits], indent=2, ensure_ascii=not is_utf8(sys.stdout)))
        elif hits:
            print("\n".join(hit_lines(hits, store.short_ids())))
        else:
            print(f"No message or title has {query!r} in it. Fewer words, or only their beginnings, find more.")


for _command in (export, import_, disagreements, rename, file, archive, pin, rm, restore):
    history.add_command(_command)
