"""The row of keys that matter now; while a command is being typed, the commands it may become."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from localspec.tui.actions import ACTIONS, key_label, matching_commands

_GAPS = ("   ", "  ")


class Hints(Static):
    """One row; as many hints as fit."""

    DEFAULT_CSS = """
    Hints { height: 1; padding: 0 2; color: $quiet; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(self) -> None:
        super().__init__("")
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
        self.update(_fitting(pairs, self.size.width), layout=False)


def _fitting(pairs: list[tuple[str, str]], width: int) -> Content:
    """The pairs on one row, drawn together where it is narrow; those in the middle go first, help and quit last."""
    gap = next((gap for gap in _GAPS if _length(pairs, gap) <= width), _GAPS[-1])
    while len(pairs) > 2 and _length(pairs, gap) > width:
        pairs = [*pairs[: len(pairs) // 2], *pairs[len(pairs) // 2 + 1 :]]
    parts: list[str | tuple[str, str]] = []
    for key, title in pairs:
        parts.extend([gap if parts else "", (key, "$foreground"), f" {title}" if title else ""])
    return Content.assemble(*parts)


def _length(pairs: list[tuple[str, str]], gap: str) -> int:
    return sum(len(f"{key} {title}".strip()) for key, title in pairs) + len(gap) * (len(pairs) - 1)
