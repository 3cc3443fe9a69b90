"""The store for the commands of ``localspec history``, and their confirmation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from localspec.base.errors import UsageError
from localspec.cli.report import remark
from localspec.cli.services import Services

if TYPE_CHECKING:
    from localspec.store import Store


@contextmanager
def open_history(*, make: bool = False) -> Iterator[Store]:
    """The user's conversations; a remark is printed about a fault of their file.

    Where there is no file the store is empty and in memory, unless ``make`` wants one.
    """
    from localspec.store import Store, database_file

    store = Store.open() if make or database_file().exists() else Store.in_memory()
    try:
        if store.notice:
            remark(store.notice)
        yield store
    finally:
        store.close()


def agreed(services: Services, question: str, *, yes: bool) -> bool:
    """Ask for confirmation; True if the user agrees. Raises UsageError without a terminal."""
    if yes:
        return True
    if not services.has_terminal():
        raise UsageError("Nothing was deleted: there is no terminal to ask at.", "Add --yes to do it.")
    if click.confirm(question, err=True):
        return True
    print("Nothing was deleted.")
    return False
