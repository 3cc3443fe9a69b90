"""Copying: to the terminal (OSC 52), and to a program of this machine that owns its clipboard.

The terminal never says whether it took a text, but a program does. Over SSH and in a browser only the terminal counts:
the clipboard of this machine is not the user's.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from textual.app import App

_TIMEOUT_S = 1.0
_FAR_AWAY = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_PROGRAMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
)
"""With the variable that says that there is a screen for it."""
_MAC = ("pbcopy",)
_WITHOUT = ("linux", "dumb", "cons25", "vt100", "vt102", "vt220")
"""Values of ``TERM`` of terminals that have no clipboard."""
_WITHOUT_PROGRAMS = ("Apple_Terminal",)


class Arrival(StrEnum):
    """The outcome of copying a text."""

    SURE = "sure"
    """A program took it."""
    PERHAPS = "perhaps"
    """The text was sent to the terminal, which never answers."""
    NOWHERE = "nowhere"
    """The terminal is known to have no clipboard, and there is no program."""


class Clipboard:
    """The clipboard that can be reached from here, by the environment variables."""

    def __init__(
        self,
        environ: Mapping[str, str] = os.environ,
        platform: str = sys.platform,
        which: Callable[[str], str | None] = shutil.which,
    ) -> None:
        self._environ = environ
        self._platform = platform
        self._which = which

    def program(self) -> Sequence[str] | None:
        """The command that takes a text on its standard input; None if there is none."""
        if any(self._environ.get(name) for name in _FAR_AWAY):
            return None
        if self._platform == "darwin":
            return _MAC if self._which(_MAC[0]) else None
        there = (command for name, command in _PROGRAMS if self._environ.get(name) and self._which(command[0]))
        return next(there, None)

    @property
    def terminal_has_none(self) -> bool:
        """True if the terminal is known to have no clipboard."""
        environ = self._environ
        return environ.get("TERM", "") in _WITHOUT or environ.get("TERM_PROGRAM") in _WITHOUT_PROGRAMS

    def take(self, text: str) -> Arrival:
        """Give a text to the program, if there is one; it may take a moment."""
        command = self.program()
        if command is not None and _given(command, text):
            return Arrival.SURE
        return Arrival.NOWHERE if self.terminal_has_none else Arrival.PERHAPS


class Copier:
    """Passes copied texts to the program in a thread, one after the other, so that the last one stays."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._clipboard = Clipboard()
        self._last: asyncio.Task[Arrival] | None = None

    def give(self, text: str) -> None:
        """Pass a text to the program, as it was sent to the terminal."""
        self._last = asyncio.create_task(self._take(text, self._last))

    async def arrival(self) -> Arrival:
        """The outcome for the last text. Cancelling the wait does not cancel the copy."""
        return await asyncio.shield(self._last) if self._last is not None else Arrival.PERHAPS

    async def _take(self, text: str, before: asyncio.Task[Arrival] | None) -> Arrival:
        if self._app.is_web or self._app.is_headless:
            return Arrival.PERHAPS  # a browser has a clipboard of its own, and so has an app without a terminal
        if before is not None:
            await asyncio.wait([before])
        return await asyncio.to_thread(self._clipboard.take, text)


@runtime_checkable
class Copies(Protocol):
    """An app with a copier."""

    copier: Copier


async def copy(app: App[Any], text: str) -> Arrival:
    """Copy to the terminal and, where the app has a copier, to the program."""
    app.copy_to_clipboard(text)
    return await app.copier.arrival() if isinstance(app, Copies) else Arrival.PERHAPS


def copied(said: str, arrival: Arrival, otherwise: str) -> str:
    """A note for one row; ``otherwise`` is another way to get the text."""
    if arrival is Arrival.SURE:
        return f"{said}."
    if arrival is Arrival.PERHAPS:
        return f"{said}; if it does not arrive, {otherwise}."
    return f"Nothing is copied: this terminal has no clipboard; {otherwise}."


def _given(command: Sequence[str], text: str) -> bool:
    """Return True if the program took the text. Its output is not awaited: some programs stay to serve the text."""
    try:
        done = subprocess.run(
            command,
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
