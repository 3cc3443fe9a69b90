"""The editing keys of a typed line: readline with the messages sent before, and commands completed by Tab."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from localspec.base.visible import is_visible, visible
from localspec.chat.compose.history import PromptHistory

_MOST_OFFERED = 200


@contextmanager
def editing_keys(history: PromptHistory, commands: Sequence[str], told_a_file: Sequence[str]) -> Iterator[None]:
    """Readline, for the length of a ``with``; nothing where Python was built without it."""
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
    readline.set_completer(_Completer(commands, told_a_file).offer)
    libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
    try:
        yield
    finally:
        readline.set_completer(None)


def remember(text: str) -> None:
    """Let Up bring back this line, with signs for what cannot be seen; several lines are not one to edit."""
    readline = sys.modules.get("readline")
    if readline is not None and "\n" not in text:
        readline.add_history(visible(text))


class _Completer:
    """Names of commands at the beginning of the line, files behind those that take one."""

    def __init__(self, commands: Sequence[str], told_a_file: Sequence[str]) -> None:
        self._commands = [f"/{name}" for name in commands]
        self._told_a_file = {f"/{name}" for name in told_a_file}
        self._offers: list[str] = []

    def offer(self, word: str, number: int) -> str | None:
        """As readline asks: the first, second, ... completion of ``word``."""
        if not number:
            import readline

            before = readline.get_line_buffer()[: readline.get_begidx()]
            self._offers = self._completions(word, before.strip())
        return self._offers[number] if number < len(self._offers) else None

    def _completions(self, word: str, before: str) -> list[str]:
        if not before:
            return [f"{name} " for name in self._commands if word and name.startswith(word)]
        return _files(word) if before in self._told_a_file else []


def _files(word: str) -> list[str]:
    """Paths that begin so, folders with a slash behind them; readline would write any name as it is."""
    folder, _, beginning = word.rpartition("/")
    try:
        place = Path(f"{folder}/").expanduser() if "/" in word else Path()
        found = [path for path in place.iterdir() if path.name.startswith(beginning) and is_visible(path.name)]
        lead = word.removesuffix(beginning) if beginning else word
        return sorted(f"{lead}{path.name}{'/' if path.is_dir() else ''}" for path in found[:_MOST_OFFERED])
    except (OSError, RuntimeError, ValueError):
        return []
