"""Line editing at a keyboard: readline with the messages sent before, and commands completed by Tab."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from localspec.base.paths import expanded
from localspec.base.visible import is_visible, visible
from localspec.chat.compose.history import PromptHistory

_MOST_OFFERED = 200


@contextmanager
def editing_keys(
    history: PromptHistory,
    commands: Sequence[str],
    file_commands: Sequence[str],
    values: Callable[[str, Sequence[str]], Sequence[str]],
) -> Iterator[None]:
    """A context with readline set up; without effect if Python was built without readline.

    ``values`` gives the words that may come next behind a command and the words that follow it.
    """
    try:
        import readline
    except ImportError:
        yield
        return
    readline.clear_history()
    readline.set_auto_history(False)
    for written in history.messages:
        remember(written.text)
    readline.set_completer_delims(" \t\n")
    readline.set_completer(_Completer(commands, file_commands, values).offer)
    libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
    if not libedit and os.environ.get("TERM") != "dumb":
        # Several lines that are pasted are one message; Python switches this off.
        readline.parse_and_bind("set enable-bracketed-paste on")
    try:
        yield
    finally:
        readline.set_completer(None)


def remember(text: str) -> None:
    """Add a line to the history of readline, control characters made visible; a text of several lines is left out."""
    readline = sys.modules.get("readline")
    if readline is not None and "\n" not in text:
        readline.add_history(visible(text))


class _Completer:
    """Completes names of commands at the beginning of a line, and behind one files, or the words that it takes."""

    def __init__(
        self,
        commands: Sequence[str],
        file_commands: Sequence[str],
        values: Callable[[str, Sequence[str]], Sequence[str]],
    ) -> None:
        self._commands = [f"/{name}" for name in commands]
        self._file_commands = {f"/{name}" for name in file_commands}
        self._values = values
        self._offers: list[str] = []

    def offer(self, word: str, number: int) -> str | None:
        """The completion of ``word`` with this number, from 0; None after the last. For readline."""
        if not number:
            import readline

            before = readline.get_line_buffer()[: readline.get_begidx()]
            self._offers = self._completions(word, before.strip())
        return self._offers[number] if number < len(self._offers) else None

    def _completions(self, word: str, before: str) -> list[str]:
        if not before:
            return [f"{name} " for name in self._commands if word and name.startswith(word)]
        if before in self._file_commands:
            return _files(word)
        if not before.startswith("/"):
            return []
        command, *named = before[1:].split() or [""]
        return [each for each in self._values(command, named) if each.startswith(word)]


def _files(word: str) -> list[str]:
    """Paths that begin with ``word``, folders with a slash; those with control characters are left out."""
    folder, _, beginning = word.rpartition("/")
    try:
        place = expanded(f"{folder}/") if "/" in word else Path()
        found = [path for path in place.iterdir() if path.name.startswith(beginning) and is_visible(path.name)]
        lead = word.removesuffix(beginning) if beginning else word
        return sorted(f"{lead}{path.name}{'/' if path.is_dir() else ''}" for path in found[:_MOST_OFFERED])
    except (OSError, ValueError):
        return []
