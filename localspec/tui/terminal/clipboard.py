"""Where a copied text goes: to the terminal (OSC 52), and to a program of this machine that keeps its clipboard.

The terminal never says whether it took a text, so a program that did is the better witness; but over SSH and in a
browser the clipboard of this machine is not the reader's.
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
"""What ``TERM`` says of terminals that have no clipboard."""
_WITHOUT_PROGRAMS = ("Apple_Terminal",)


class Arrival(StrEnum):
    """What is known of a text that was copied."""

    SURE = "sure"
    """A program took it."""
    PERHAPS = "perhaps"
    """The terminal was told."""
    NOWHERE = "nowhere"
    """The terminal is known to have no clipboard, and there is no program."""


class Clipboard:
    """The ways there are from here; looks at the environment alone until something is copied."""

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
        """Whether the terminal is one of those that are known to take nothing."""
        environ = self._environ
        return environ.get("TERM", "") in _WITHOUT or environ.get("TERM_PROGRAM") in _WITHOUT_PROGRAMS

    def take(self, text: str) -> Arrival:
        """Give a text to the program, if there is one; it may take a moment."""
        command = self.program()
        if command is not None and _given(command, text):
            return Arrival.SURE
        return Arrival.NOWHERE if self.terminal_has_none else Arrival.PERHAPS


class Copier:
    """Gives what an app copies to the program as well, off the loop, one text after the other: the last one stays."""

    def __init__(self, app: App[Any], clipboard: Clipboard | None = None) -> None:
        self._app = app
        self._clipboard = clipboard or Clipboard()
        self._last: asyncio.Task[Arrival] | None = None

    def give(self, text: str) -> None:
        """Have the program take a text that the terminal was told."""
        self._last = asyncio.create_task(self._take(text, self._last))

    async def arrival(self) -> Arrival:
        """What is known of the text that was given last. Who no longer waits for that takes nothing back."""
        return await asyncio.shield(self._last) if self._last is not None else Arrival.PERHAPS

    async def _take(self, text: str, before: asyncio.Task[Arrival] | None) -> Arrival:
        if self._app.is_web or self._app.is_headless:
            return Arrival.PERHAPS  # a browser has a clipboard of its own, and so has an app without a terminal
        if before is not None:
            await asyncio.wait([before])
        return await asyncio.to_thread(self._clipboard.take, text)


@runtime_checkable
class Copies(Protocol):
    """An app that gives to its copier whatever is copied in it."""

    copier: Copier


async def copy(app: App[Any], text: str) -> Arrival:
    """Copy by every way that the app has."""
    app.copy_to_clipboard(text)
    return await app.copier.arrival() if isinstance(app, Copies) else Arrival.PERHAPS


def copied(said: str, arrival: Arrival, otherwise: str) -> str:
    """What to say, short enough for one row; ``otherwise`` is how else the text is had."""
    if arrival is Arrival.SURE:
        return f"{said}."
    if arrival is Arrival.PERHAPS:
        return f"{said}; if it does not arrive, {otherwise}."
    return f"Nothing is copied: this terminal has no clipboard; {otherwise}."


def _given(command: Sequence[str], text: str) -> bool:
    """Whether the program took it. Some stay to serve it, so nobody waits for their output."""
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
