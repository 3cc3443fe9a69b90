"""The title of the conversation in the title of the terminal (OSC 2); the former title is restored at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from textual.app import App

APP = "LocalSpec"
LONGEST = 60
_KEEP, _BRING_BACK = "\x1b[22;2t", "\x1b[23;2t"
"""XTWINOPS: put the window's title onto the terminal's stack, and take it from there."""
_WITHOUT_TITLE = ("linux", "dumb", "")


class TerminalTitle:
    """Writes only what changes."""

    def __init__(self, write: Callable[[str], None] | None) -> None:
        """Without ``write`` there is no terminal that has a title."""
        self._write = write
        self._shown: str | None = None

    def show(self, conversation: str) -> None:
        """Show the title of this conversation; empty if it has no message yet."""
        title = titled(conversation)
        if self._write is None or title == self._shown:
            return
        self._write(("" if self._shown else _KEEP) + f"\x1b]2;{title}\x07")
        self._shown = title

    def end(self) -> None:
        """Give the title back."""
        if self._write is not None and self._shown is not None:
            self._write(_BRING_BACK)
            self._shown = None


def titled(conversation: str) -> str:
    """The whole title; signs that steer a terminal are no part of it.

    >>> titled("Why is the sky blue?")
    'Why is the sky blue? - LocalSpec'
    """
    name = " ".join("".join(sign if sign.isprintable() else " " for sign in conversation).split())
    name = name if len(name) <= LONGEST else f"{name[: LONGEST - 1].rstrip()}…"
    return f"{name} - {APP}" if name else APP


def terminal_write(app: App[Any], environ: Mapping[str, str]) -> Callable[[str], None] | None:
    """The way to the terminal of an app, if it is one that has a title; a browser's tab and a test have none."""
    driver = app._driver
    if driver is None or app.is_headless or app.is_web or environ.get("TERM", "") in _WITHOUT_TITLE:
        return None
    return driver.write
