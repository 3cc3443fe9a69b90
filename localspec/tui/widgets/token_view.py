"""A reply as tokens, each marked by its origin: light enough to draw while the model is computing.

Append-only. Only lines that changed and can be seen are drawn, and the screen is laid out again only
when the number of lines changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.style import Style
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip

from localspec.engine.events import Origin, Proposal, Token
from localspec.tui.draw import ghost_segments, line_segments
from localspec.tui.marks import Layout
from localspec.tui.palette import Palette
from localspec.tui.widgets.steady import Steady


class TokenView(Steady):
    """Tokens in, marked lines out; ghosts of rejected proposals may follow the last one for a moment."""

    DEFAULT_CSS = "TokenView { width: 100%; height: auto; }"

    def __init__(self, palette: Callable[[], Palette]) -> None:
        super().__init__()
        self._palette = palette
        self._layout = Layout(80)
        self._strips: dict[int, Strip] = {}
        self._ghosts: tuple[Proposal, ...] = ()

    @property
    def counts(self) -> dict[Origin, int]:
        """How many tokens of each origin are marked."""
        return self._layout.counts()

    @property
    def ghosts(self) -> tuple[Proposal, ...]:
        """The rejected proposals on screen right now."""
        return self._ghosts

    def extend(self, tokens: Sequence[Token], ghosts: tuple[Proposal, ...] = ()) -> None:
        """Append tokens, and show these ghosts in place of those before."""
        self._ghosts = ghosts
        self._changed(self._layout.append(tokens))

    def fade(self) -> None:
        """Take the ghosts off the screen."""
        if self._ghosts:
            self._ghosts = ()
            self._changed(len(self._layout.lines) - 1)

    def finish(self) -> None:
        """The reply is complete."""
        self._ghosts = ()
        self._changed(self._layout.finish())

    def _changed(self, first: int) -> None:
        """Lines from ``first`` on are to be drawn again."""
        for y in range(first, len(self._layout.lines)):
            self._strips.pop(y, None)
        height = len(self._layout.lines)
        self.refresh(Region(0, first, max(self.size.width, 1), height - first), layout=height != self.size.height)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if width > 0 and width != self._layout.width:
            self._layout.resize(width)
            self._strips.clear()
        return len(self._layout.lines)

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        if size.width == self._size.width:
            self._size = size  # growing in height alone leaves every line as it was drawn
        return super()._size_updated(size, virtual_size, container_size, layout)

    def render_line(self, y: int) -> Strip:
        selection = self.text_selection
        if selection is None and (strip := self._strips.get(y)) is not None:
            return strip
        strip = self._draw(y, selection)
        if selection is None:
            self._strips[y] = strip
        return strip

    def _draw(self, y: int, selection: Selection | None) -> Strip:
        width, base = self.size.width, self.rich_style
        lines = self._layout.lines
        if y >= len(lines):
            return Strip.blank(width, base)
        segments = line_segments(lines[y], self._palette(), base, width)
        strip = Strip(segments)
        if selection is not None and (span := selection.get_span(y)) is not None:
            strip = self._highlight(strip, *span)
        if self._ghosts and y == len(lines) - 1:
            room = width - strip.cell_length
            strip = Strip([*strip, *ghost_segments(self._ghosts, self._palette(), base, room)])
        return strip.extend_cell_length(width, base).apply_offsets(0, y)

    def _highlight(self, strip: Strip, start: int, end: int) -> Strip:
        style: Style = self.screen.get_component_rich_style("screen--selection")
        stop = strip.cell_length if end < 0 else min(end, strip.cell_length)
        before, selected, after = strip.crop(0, start), strip.crop(start, stop), strip.crop(stop)
        return Strip.join([before, selected.apply_style(style), after])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected part of the reply as the model wrote it: no ghosts, no breaks where a line merely wraps."""
        parts = []
        for y, line in enumerate(self._layout.lines):
            if (span := selection.get_span(y)) is not None:
                start, end = span
                parts.append(line.text[start : None if end < 0 else end])
        return "".join(parts), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self._strips.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()
