"""A list that bears what comes at a bad moment."""

from __future__ import annotations

from textual.events import Click
from textual.widgets import OptionList


class FirmList(OptionList, can_focus=False):
    """Textual's (8.2), but that a click at a row which has just gone, and a page in a list without a line, do nothing.

    A click knows its row by number from the moment it was made, and by the time it is heard the list may be shorter.
    """

    def on_click(self, event: Click) -> None:
        row = event.style.meta.get("option")
        if row is not None and row >= self.option_count:
            event.prevent_default()

    def action_page_up(self) -> None:
        if self.scrollable_content_region:
            super().action_page_up()  # type: ignore[no-untyped-call]

    def action_page_down(self) -> None:
        if self.scrollable_content_region:
            super().action_page_down()  # type: ignore[no-untyped-call]
