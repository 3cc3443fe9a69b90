"""Result files named on the command line."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from localspec.base.errors import OutputError, UsageError, explaining
from localspec.base.shared_file import is_stream, resolved, write_whole
from localspec.base.visible import visible


def check_writable(path: Path | None) -> None:
    """Raise UsageError if a result file cannot be written; to be called before long work."""
    if path is None:
        return
    if is_stream(path):
        _refuse_without(path, path)
        return
    real = resolved(path)
    if not real.parent.is_dir():
        raise UsageError(f"There is no folder {real.parent} to write {real.name} to.", "Make it first.")
    _refuse_without(real.parent, path)  # another file takes the place of one that is there
    if real.exists():
        _refuse_without(real, path)


def _refuse_without(needed: Path, path: Path) -> None:
    if not os.access(needed, os.W_OK):
        raise UsageError(f"{path} cannot be written: {needed} does not let you.", "Choose another file.")


def write_out(path: Path, text: str) -> None:
    """Replace a result file in one step. Raises OutputError."""
    with suppress(OSError):
        sys.stdout.flush()  # it may be where the file leads, too
    with explaining(OutputError, f"{path} cannot be written", "choose another file"):
        write_whole(path, visible(text) if path.is_char_device() else text)
