"""The row of keys that matter now; while a command is being typed, the commands it may become."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from localspec.tui.actions import ACTIONS, key_label, matching_commands

_GAP = "   "


class Hints(Static):
    """One row; as many hints as fit."""

    DEFAULT_CSS = """
    Hints { height: 1; padding: 0 2; color: $quiet; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("", id=id)
        self._typed = ""

    def typed(self, text: str) -> None:
        """The reader is writing this."""
        if matching_commands(text) != matching_commands(self._typed):
            self._typed = text
            self._draw()
        self._typed = text

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        commands = matching_commands(self._typed)
        if commands:
            pairs = [(f"/{action.command}", action.help) for action in commands]
            pairs = pairs if len(pairs) == 1 else [(command, "") for command, _ in pairs]
        else:
            pairs = [(key_label(action.keys), action.title) for action in ACTIONS if action.hinted]
        self.update(_fitting(pairs, self.size.width - 4), layout=False)


def _fitting(pairs: list[tuple[str, str]], width: int) -> Content:
    """The pairs on one row; those in the middle go first, since help and quit come last."""
    while len(pairs) > 2 and _length(pairs) > width:
        pairs = [*pairs[: len(pairs) // 2], *pairs[len(pairs) // 2 + 1 :]]
    parts: list[str | tuple[str, str]] = []
    for key, title in pairs:
        parts.extend([_GAP if parts else "", (key, "$foreground"), f" {title}" if title else ""])
    return Content.assemble(*parts)


def _length(pairs: list[tuple[str, str]]) -> int:
    return sum(len(key) + len(title) + 1 for key, title in pairs) + len(_GAP) * (len(pairs) - 1)
