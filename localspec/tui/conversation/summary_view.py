"""The widget of a summary: one row in place of the turns, and the summary itself once it is unfolded."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.content import Content

from localspec.chat.commands.turns import THOUGHTS
from localspec.chat.commands.watching import STOP
from localspec.chat.turn import Turn
from localspec.tui.conversation.turn_view import TurnView
from localspec.tui.keys.bindings import key_of
from localspec.tui.tokens.palette import Palette


class SummaryView(TurnView):
    """Unfolded while it is written, then folded."""

    DEFAULT_CSS = """
    SummaryView .asked { text-style: none; color: $quiet; }
    SummaryView.-folded ReplyView { display: none; }
    """

    def __init__(self, turn: Turn, palette: Callable[[], Palette]) -> None:
        super().__init__(turn, palette)
        self.remove_class("-unasked")
        self.set_class(turn.summary_request is None, "-folded")
        self.draw_question()

    def unfold(self) -> None:
        """Unfold the summary, or fold it."""
        self.toggle_class("-folded")
        self.draw_question()

    def on_click(self, event: events.Click) -> None:
        if event.widget in (self._mark, self.prompt_row) and self.prompt_row.text_selection is None:
            event.stop()
            self.unfold()

    @property
    def sign(self) -> str:
        return super().sign if self.has_class("-selected") else "▸ " if self.has_class("-folded") else "▾ "

    def _asked(self) -> Content:
        n = self.turn.stands_for_n
        stop, unfold = key_of(self, STOP), key_of(self, THOUGHTS)
        turns = "1 turn" if n == 1 else f"{n:,} turns"
        if self.turn.summary_request is not None:
            stops = f"; {stop} stops it, and nothing changes" if stop else ""
            return Content(f"summarising {turns}{stops}")
        ways = f"{unfold} or a click" if unfold else "a click"
        hint = f"  {ways} shows the summary, /undo brings {'it' if n == 1 else 'them'} back"
        return Content.assemble((f"{turns} summarised", "$foreground bold"), hint if self.has_class("-folded") else "")
