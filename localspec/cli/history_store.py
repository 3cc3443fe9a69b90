"""The store for the commands of ``localspec history``, and their confirmation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from localspec.base.errors import NotFoundError, StoreError, UsageError
from localspec.cli.report import remark
from localspec.cli.values import PathParam

if TYPE_CHECKING:
    from localspec.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])


@contextmanager
def open_history(*, make: bool = False, change: bool = False) -> Iterator[Store]:
    """The user's conversations; a remark is printed about a fault of their file.

    Where there is no file the store is empty and in memory, unless ``make`` wants one. Raises StoreError if they are to
    ``change`` and can only be read.
    """
    from localspec.store import Store, database_file

    store = Store.open() if make or database_file().exists() else Store.in_memory()
    try:
        if change and store.read_only:
            raise StoreError(store.notice, "Nothing was changed.")
        if store.notice:
            remark(store.notice)
        yield store
    finally:
        store.close()


def to_new_file(command: Command) -> Command:
    """The option that names a new file to write to."""
    option = click.option(
        *("--output", "-o"),
        type=PathParam(),
        metavar="FILE",
        callback=lambda _, __, file: None if file == Path("-") else file,
        help="Write to FILE, a new file that only you can read; - is standard output.",
    )
    return option(command)


def matching(help_: str) -> Callable[[Command], Command]:
    """The option that names conversations by a filter, for commands that take several."""
    return click.option("--matching", metavar="FILTER", help=help_)


def meant(store: Store, beginnings: Sequence[str], filter_: str | None, *, deleted: bool | None = False) -> list[str]:
    """The ids of the conversations that were named, by the beginnings of their ids or by a filter of titles.

    Raises UsageError if neither or both name any or the filter is empty, NotFoundError if the filter keeps none.
    """
    from localspec.chat.history import kept
    from localspec.store.filing import FilingFilter

    if beginnings and filter_ is not None:
        raise UsageError("Conversations are named in two ways.", "Give IDs or --matching FILTER, not both.")
    if not beginnings and filter_ is None:
        raise UsageError("No conversation was named.", "Give IDs, or --matching FILTER.")
    if filter_ is None:
        return list(dict.fromkeys(store.find(each, deleted=deleted) for each in beginnings))
    filing, letters = FilingFilter.parse(filter_)
    if not filing and not letters.strip():
        raise UsageError("--matching is empty.", "is:any takes every conversation, archived ones too.")
    found = [each.heading.id for each in kept(store.conversations(), filter_)]
    if not found:
        raise NotFoundError(
            f"No conversation matches {filter_!r}.", "`localspec history list --filter` tries a filter."
        )
    return found
