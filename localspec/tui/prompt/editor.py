"""Writing in the user's own editor, by way of a temporary file."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from textual.app import SuspendNotSupported

from localspec.base.errors import InputError, NotFoundError

FALLBACKS = ("nano", "vi")

Suspend = Callable[[], AbstractContextManager[None]]
"""Gives the terminal to another program for the length of a ``with``."""


def edit_in(suspend: Suspend, text: str, environ: Mapping[str, str]) -> str:
    """Return ``text`` as it was edited. Raises NotFoundError or InputError; the text is not lost then."""
    command = editor_command(environ)
    try:
        with tempfile.TemporaryDirectory(prefix="localspec-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / "message.md"
            path.write_text(text, encoding="utf-8", errors="replace")
            _run(suspend, [*command, str(path)])
            return path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"The file for {command[0]} cannot be used ({error.strerror}).", _KEPT) from None


_KEPT = "The message is as it was before."


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """The editor with its options: ``$VISUAL``, else ``$EDITOR``, else one that most systems have."""
    for name in ("VISUAL", "EDITOR"):
        if environ.get(name, "").strip():
            return _split(name, environ[name])
    for fallback in FALLBACKS:
        if found := shutil.which(fallback, path=environ.get("PATH")):
            return [found]
    raise NotFoundError("No editor is known.", "Set $EDITOR to the one you use, for example EDITOR=nano.")


def _split(name: str, command: str) -> list[str]:
    try:
        return shlex.split(command, posix=os.name == "posix")
    except ValueError as error:
        raise InputError(f"${name} cannot be understood ({error}).", "Mind its quotation marks.") from None


def _run(suspend: Suspend, command: list[str]) -> None:
    try:
        with suspend(), deaf_to_interrupts():
            code = _outcome(command)
    except SuspendNotSupported:
        raise InputError("The editor cannot have the terminal here.", _KEPT) from None
    if isinstance(code, FileNotFoundError):
        raise NotFoundError(f"There is no editor {command[0]}.", "Set $EDITOR to the one you use.")
    if isinstance(code, OSError):
        raise InputError(f"{command[0]} cannot be started ({code.strerror}).", _KEPT)
    if code:
        raise InputError(f"{command[0]} ended with exit code {code}.", _KEPT)


def _outcome(command: list[str]) -> int | OSError:
    """The exit code, or why there is none: an exception here would leave the app without its terminal."""
    try:
        return subprocess.run(command, check=False).returncode
    except OSError as error:
        return error


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Ctrl-C is the other program's meanwhile. A handler, unlike being ignored, is not handed down to it."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
