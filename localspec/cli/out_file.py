"""Files that a command is told to write its result to."""

from __future__ import annotations

import os
from pathlib import Path

from localspec.errors import ConfigError, UsageError


def check_writable(path: Path | None) -> None:
    """Raise UsageError before any long work if there is no way to write there."""
    if path is None:
        return
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder} to write {path.name} to.", "Make it first.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(f"{path} cannot be written.", "Choose another file.")


def write_out(path: Path, text: str) -> None:
    """Write in one step, so that an older file is either kept or replaced. Raises ConfigError."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}.", "Choose another file.") from error
