"""Files that a command is told to write its result to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from localspec.errors import ConfigError, StoreError, UsageError
from localspec.whole_file import followed, is_passage, write_whole


def check_writable(path: Path | None) -> None:
    """Raise UsageError before any long work if there is no way to write there."""
    if path is None:
        return
    if is_passage(path):
        _refuse_without(path, path)
        return
    real = followed(path)
    if not real.parent.is_dir():
        raise UsageError(f"There is no folder {real.parent} to write {real.name} to.", "Make it first.")
    _refuse_without(real.parent, path)  # another file takes the place of one that is there
    if real.exists():
        _refuse_without(real, path)


def _refuse_without(needed: Path, path: Path) -> None:
    if not os.access(needed, os.W_OK):
        raise UsageError(f"{path} cannot be written: {needed} does not let you.", "Choose another file.")


def write_out(path: Path, text: str) -> None:
    """Write in one step, so that an older file is either kept or replaced. Raises ConfigError."""
    with suppress(OSError):
        sys.stdout.flush()  # it may be where the file leads, too
    try:
        write_whole(path, text)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}.", "Choose another file.") from error


@contextmanager
def new_private_file(path: Path) -> Iterator[TextIO]:
    """A file that was not there and nobody else may read; gone again if it is not finished.

    Raises UsageError if it is there, StoreError if it cannot be written.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} is there already.", "Choose another name, or move it away.") from None
    except OSError as error:
        raise _unwritten(path, error) from None
    finished = False
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            yield stream
        finished = True
    except OSError as error:
        raise _unwritten(path, error) from None
    finally:
        if not finished:
            with suppress(OSError):
                path.unlink()


def _unwritten(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path} cannot be written: {error.strerror or error}.", "Choose another place.")
