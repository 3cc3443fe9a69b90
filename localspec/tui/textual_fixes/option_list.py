"""An option list that ignores clicks on rows that are gone.

Needed with Textual 8.2.8. Corrects: a click names its row by number as it is made, and ends the app if the list has
fewer rows when the click is handled; so does a page up or down in a list without a visible line. Not reported upstream
yet.
"""

from __future__ import annotations

from textual.events import Click
from textual.widgets import OptionList


class GuardedOptionList(OptionList, can_focus=False):
    """An OptionList in which a click on a row that is gone, and a page where no line is visible, do nothing."""

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
