"""``localspec history rm`` and ``restore``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from localspec.base.errors import StoreError, refused
from localspec.base.paths import user_paths
from localspec.base.visible import visible_line
from localspec.cli.history_store import matching, meant, open_history
from localspec.cli.services import Services, confirmed

if TYPE_CHECKING:
    from localspec.store import Store


@click.command(short_help="Delete conversations; restore brings them back.")
@click.argument("beginnings", metavar="[ID]...", nargs=-1)
@matching("Delete those that `history list --filter FILTER` lists.")
@click.option("--forever", is_flag=True, help="Leave nothing of them, so that they cannot be brought back.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@click.pass_obj
def rm(services: Services, /, beginnings: Sequence[str], matching: str | None, forever: bool, yes: bool) -> None:
    """Delete the conversations ID. For 30 days `localspec history restore` brings them back."""
    with open_history(change=True) as store:
        found = meant(store, beginnings, matching, deleted=None if forever else False)
        for conversation in found:
            print(visible_line(f"{conversation[:8]}  {store.open_conversation(conversation).title}"))
        question = "Delete for good?" if forever else "Delete?"
        if not confirmed(services, question, "Nothing was deleted", yes=yes):
            return
        if forever:
            for conversation in found:  # all before the first is destroyed, as it may be refused
                _forget_what_was_typed(store, conversation)
            for conversation in found:
                store.destroy(conversation)
            print("Deleted for good.")
            _name_copies(store)
            _name_what_models_keep()
            _name_audit_log()
        else:
            store.delete(*found)
            short = store.short_ids(deleted=True)
            ids = " ".join(short[conversation] for conversation in found)
            them = "it" if len(found) == 1 else "them"
            print(f"Deleted. For 30 days this brings {them} back: localspec history restore {ids}")


@click.command(short_help="Bring deleted conversations back.")
@click.argument("beginnings", metavar="ID", nargs=-1, required=True)
def restore(beginnings: Sequence[str]) -> None:
    """Bring the deleted conversation ID back; `localspec history list --deleted` shows them."""
    with open_history(change=True) as store:
        found = dict.fromkeys(store.find(each, deleted=True) for each in beginnings)
        for conversation in found:
            store.restore(conversation)
            print(visible_line(f"Restored: {store.open_conversation(conversation).title}"))


def _forget_what_was_typed(store: Store, conversation: str) -> None:
    """Delete the conversation's texts from the history of the prompt. Raises StoreError."""
    from localspec.chat.compose.attachment import without_files
    from localspec.chat.compose.history import SENT_MESSAGES, PromptHistory
    from localspec.chat.compose.unsent import UNSENT, UnsentMessages
    from localspec.runtime.messages import Role

    nodes = store.open_conversation(conversation).tree.nodes
    data = user_paths().data
    try:
        PromptHistory(data / SENT_MESSAGES).forget(
            {without_files(node.content)[1] for node in nodes if node.role is Role.USER}
        )
        UnsentMessages(data / UNSENT).drop(conversation)
    except OSError as error:
        message, _ = refused(f"The messages that were sent are kept in {data} too, and stay there", error, "")
        raise StoreError(message, "Nothing was deleted; make the folder writable.") from None


def _name_copies(store: Store) -> None:
    """Name the copies of the whole history that a migration or damage left beside it."""
    from localspec.store.opening import copies_of

    for copy in copies_of(store.path) if store.path is not None else ():
        print(f"An earlier copy of the history may contain what was deleted; to forget it, delete {copy}.")


def _name_what_models_keep() -> None:
    """Name the folders that contain tokens of many conversations together."""
    for name, option in (("replies", "--remember-replies"), ("caches", "--keep-caches")):
        folder = user_paths().data / name
        if folder.is_dir() and any(folder.iterdir()):
            print(f"The files of {option} may contain words of what was deleted; to forget them, delete {folder}.")


def _name_audit_log() -> None:
    """Name the log that the settings have replies written to."""
    from localspec.config import read_config, setting

    config = read_config()
    named = config.values.get("audit.audit_log")
    log = None if named is None else setting("audit_log").kind.resolve(named, config.path.parent)
    if log is not None and log.exists():
        print(
            f"The audit log may contain words of what was deleted; to forget them, delete {log} and older parts of it."
        )
