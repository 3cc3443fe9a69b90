"""``localspec history rename`` and ``pin``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from localspec.base.visible import visible_line
from localspec.cli.history_store import matching, meant, open_history


@click.command(short_help="Give a conversation a title.")
@click.argument("beginning", metavar="ID")
@click.argument("words", metavar="[TITLE...]", nargs=-1)
def rename(beginning: str, words: Sequence[str]) -> None:
    """Call the conversation ID by this TITLE; without one it gets its own, made from the first question."""
    with open_history() as store:
        conversation = store.find(beginning)
        store.rename(conversation, " ".join(words))
        print(visible_line(f"The title is: {store.open_conversation(conversation).title}"))


@click.command(short_help="Keep conversations on top of the list.")
@click.argument("beginnings", metavar="[ID]...", nargs=-1)
@matching("Pin those that `history list --filter FILTER` lists.")
@click.option("--off", is_flag=True, help="Let them go back to their place.")
def pin(beginnings: Sequence[str], matching: str | None, off: bool) -> None:
    """Keep the conversations ID on top of the list, here and in the app."""
    with open_history() as store:
        found = meant(store, beginnings, matching)
        store.pin(*found, pinned=not off)
        for conversation in found:
            title = store.open_conversation(conversation).title
            print(visible_line(f"{'No longer pinned' if off else 'Pinned'}: {title}"))
