"""``localspec history rm`` and ``restore``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from localspec.cli.history_store import agreed, open_history
from localspec.cli.services import Services


@click.command(short_help="Delete conversations; restore brings them back.")
@click.argument("beginnings", metavar="ID", nargs=-1, required=True)
@click.option("--forever", is_flag=True, help="Leave nothing of them, so that they cannot be brought back.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@click.pass_obj
def rm(services: Services, /, beginnings: Sequence[str], forever: bool, yes: bool) -> None:
    """Delete the conversations ID. For 30 days `localspec history restore` brings them back."""
    with open_history() as store:
        found = dict.fromkeys(store.find(each, deleted=None if forever else False) for each in beginnings)
        for conversation in found:
            print(f"{conversation[:8]}  {store.open_conversation(conversation).title}")
        if not agreed(services, "Delete for good?" if forever else "Delete?", yes=yes):
            return
        for conversation in found:
            (store.destroy if forever else store.delete)(conversation)
        if forever:
            print("Deleted for good.")
        else:
            short = store.short_ids(deleted=True)
            ids = " ".join(short[conversation] for conversation in found)
            print(f"Deleted. For 30 days this brings back what went: localspec history restore {ids}")


@click.command(short_help="Bring deleted conversations back.")
@click.argument("beginnings", metavar="ID", nargs=-1, required=True)
def restore(beginnings: Sequence[str]) -> None:
    """Bring the deleted conversations ID back; `localspec history list --deleted` shows them."""
    with open_history() as store:
        found = dict.fromkeys(store.find(each, deleted=True) for each in beginnings)
        for conversation in found:
            store.restore(conversation)
            print(f"Restored: {store.open_conversation(conversation).title}")
