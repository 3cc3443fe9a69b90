"""``localspec history rename``, ``pin``, ``file`` and ``archive``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from localspec.base.errors import UsageError
from localspec.base.visible import visible_line
from localspec.cli.history_store import matching, meant, open_history

if TYPE_CHECKING:
    from localspec.store import Heading


@click.command(short_help="Give a conversation a title.")
@click.argument("beginning", metavar="ID")
@click.argument("words", metavar="[TITLE...]", nargs=-1)
def rename(beginning: str, words: Sequence[str]) -> None:
    """Call the conversation ID by this TITLE; without one it gets its own, made from the first question."""
    with open_history(change=True) as store:
        conversation = store.find(beginning)
        store.rename(conversation, " ".join(words))
        print(visible_line(f"The title is: {store.open_conversation(conversation).title}"))


@click.command(short_help="Keep conversations on top of the list.")
@click.argument("beginnings", metavar="[ID]...", nargs=-1)
@matching("Pin those that `history list --filter FILTER` lists.")
@click.option("--off", is_flag=True, help="Let them go back to their place.")
def pin(beginnings: Sequence[str], matching: str | None, off: bool) -> None:
    """Keep the conversations ID on top of the list, here and in the app."""
    done = "No longer pinned" if off else "Pinned"
    _change(beginnings, matching, lambda heading: replace(heading, pinned=not off), done)


@click.command(short_help="Put conversations into a folder, and tag them.")
@click.argument("beginnings", metavar="[ID]...", nargs=-1)
@matching("File those that `history list --filter FILTER` lists.")
@click.option(
    "--folder", metavar="NAME", help="Put them into this folder; A/B is a folder in A, and none takes them out."
)
@click.option("--tag", "tags", metavar="NAME", multiple=True, help="Give them this tag; may be given several times.")
@click.option(
    "--untag", "untags", metavar="NAME", multiple=True, help="Take this tag from them; may be given several times."
)
def file(
    beginnings: Sequence[str],
    matching: str | None,
    folder: str | None,
    tags: Sequence[str],
    untags: Sequence[str],
) -> None:
    """File the conversations ID, or those that match a filter; what is not named stays as it is."""
    from localspec.config.kinds import NONE
    from localspec.store.filing import Filing, folder_name, tag_names

    if folder is None and not tags and not untags:
        raise UsageError("There is nothing to change.", "Give --folder, --tag or --untag.")
    if folder is not None and not folder_name(folder):
        raise UsageError("--folder is empty.", f"--folder {NONE} takes them out of theirs.")
    for option, words in (("--tag", tags), ("--untag", untags)):
        if not all(tag_names([word]) for word in words):
            raise UsageError(f"{option} is empty.", "A tag is a word, as in --tag physics.")

    def filed(heading: Heading) -> Heading:
        own = (set(heading.tags) - set(tag_names(untags))) | set(tag_names(tags))
        into = heading.folder if folder is None else "" if folder == NONE else folder_name(folder)
        return replace(heading, folder=into, tags=tag_names(own))

    with open_history(change=True) as store:
        found = meant(store, beginnings, matching)
        store.change_headings(found, filed)
        for conversation in found:
            heading = store.open_conversation(conversation).heading
            print(visible_line(f"{heading.title}: {str(Filing.of(heading)) or 'in no folder, no tags'}"))


@click.command(short_help="Put conversations into the archive.")
@click.argument("beginnings", metavar="[ID]...", nargs=-1)
@matching("Archive those that `history list --filter FILTER` lists; with --off, FILTER needs is:archived.")
@click.option("--off", is_flag=True, help="Take them out again.")
def archive(beginnings: Sequence[str], matching: str | None, off: bool) -> None:
    """Put the conversations ID into the archive. Lists leave them out, and so do searches without is:any."""
    done = "Back in the list" if off else "Archived"
    _change(beginnings, matching, lambda heading: replace(heading, archived=not off), done)


def _change(beginnings: Sequence[str], matching: str | None, change: Callable[[Heading], Heading], done: str) -> None:
    """Change the headings of the conversations that are meant, and say what was done with each."""
    with open_history(change=True) as store:
        found = meant(store, beginnings, matching)
        store.change_headings(found, change)
        for conversation in found:
            print(visible_line(f"{done}: {store.open_conversation(conversation).title}"))
