"""The note under a reply, broken into rows between its parts."""

from __future__ import annotations

from textwrap import wrap

from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

_BETWEEN = " · "


class Note(Static):
    """Several parts, as many in a row as fit; hidden while it is empty."""

    def __init__(self) -> None:
        super().__init__("", classes="note")
        self._said = ""

    def say(self, text: str) -> None:
        """Show this text; its parts are separated by " · "."""
        self._said = text
        self.display = bool(text)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.rows(width))

    def render(self) -> Content:
        return Content("\n".join(self.rows(self.content_size.width or len(self._said))))

    def rows(self, width: int) -> list[str]:
        """The whole text in rows of at most ``width`` cells."""
        rows: list[str] = []
        for line in self._said.split("\n"):
            row = ""
            for part in line.split(_BETWEEN):
                longer = f"{row}{_BETWEEN}{part}" if row else part
                if row and len(longer) > width:
                    rows += wrap(row, max(1, width))
                    longer = part
                row = longer
            rows += wrap(row, max(1, width)) or [""]
        return rows
