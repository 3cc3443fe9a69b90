"""The live line: the activity of the engine and its speed, in words and fixed-width figures.

One row says how fast, how much faster than plain and why; a second counts the tokens by what they are marked
for and is the legend of the marks at the same time, with a bar for each of the latest rounds.
"""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import VerticalGroup
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from localspec.chat.tokens.live import GAP, Activity, Figures, bars, count_fields, figures_line
from localspec.tui.tokens.palette import Palette

_BAR_CELLS = 20


class LiveLine(VerticalGroup):
    """Shows an activity or figures; repaints only when a character differs."""

    DEFAULT_CSS = """
    LiveLine Static { height: 1; width: 100%; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(self, palette: Callable[[], Palette]) -> None:
        super().__init__()
        self._palette = palette
        self._figures = Static("", id="figures")
        self._counts = Static("", id="counts")
        self._shown: tuple[Activity | Figures | None, int] = (None, 0)
        self._line = ""
        """The figures as they stand there."""
        self._drawn_in: Palette | None = None

    def compose(self) -> ComposeResult:
        yield self._figures
        yield self._counts

    def show(self, state: Activity | Figures) -> None:
        if self._shown == (state, self.size.width):
            return
        self._shown = (state, self.size.width)
        self._drawn_in = self._palette()
        line, self._line = self._line, ""
        if isinstance(state, Activity):
            doing, detail = self._activity(state), Content.assemble((state.detail, "$quiet"))
            fits = doing.cell_length + len(GAP) + detail.cell_length <= self._room()
            self._figures.update(Content.assemble(doing, GAP, detail) if fits else doing, layout=False)
            self._counts.update("" if fits else detail, layout=False)
        else:
            self._line = figures_line(state, self._room())
            if self._line != line:
                self._figures.update(Content(self._line), layout=False)
            self._counts.update(self._count_content(state), layout=False)

    def redraw(self) -> None:
        """Draw again, after the width or the colours changed."""
        state, _ = self._shown
        self._shown, self._line = (None, 0), ""
        if state is not None:
            self.show(state)

    def on_resize(self) -> None:
        self.redraw()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted and self._drawn_in is not self._palette():
            self.redraw()

    def _room(self) -> int:
        return self.size.width or 76

    def _activity(self, activity: Activity) -> Content:
        if activity.fraction is None:
            return Content(activity.what)
        done = round(max(0.0, min(1.0, activity.fraction)) * _BAR_CELLS)
        return Content.assemble(
            ("━" * done, "$accent"),
            ("━" * (_BAR_CELLS - done), "$panel"),
            f" {activity.fraction:>4.0%}  {activity.what}",
        )

    def _count_content(self, shown: Figures) -> Content:
        """The counts, each in the look of its tokens; numbers stay quiet so that only the words are marked.

        They are drawn together where they would not fit with room for larger numbers.
        """
        parts: list[str | Content | tuple[str, str | Style]] = []
        fields = count_fields(shown, self._room())
        if len(GAP.join(text for _, text in fields)) > self._room():
            fields = [(kind, text.lstrip()) for kind, text in fields]
        for kind, text in fields:
            number, word = text[: -len(kind)], text[-len(kind) :]
            parts.extend([GAP if parts else "", number, (word, self._palette().mark_look(shown.mode, kind))])
        return Content.assemble(*parts, GAP, (bars(shown, self._room()), "$quiet"))
