"""The highlighted row of a list in the terminal's own sixteen colours, of which nobody knows how they contrast."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from localspec.tui.textual_fixes.option_list import GuardedOptionList

_HIGHLIGHTED = "option-list--option-highlighted"


class ReadableBar(GuardedOptionList, can_focus=False):
    """All its text has the one colour that themes pair with the bar; grey or green would be lost on it."""

    DEFAULT_CSS = """
    ReadableBar:ansi > .option-list--option-highlighted {
        background: $block-cursor-background; color: $block-cursor-foreground;
    }
    """

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        if not self.app.native_ansi_color or not self._is_highlighted(self.scroll_offset.y + y):
            return strip
        colour = self.get_visual_style("option-list--option", _HIGHLIGHTED).rich_style.color
        return Strip(Segment.apply_style(strip, post_style=Style(color=colour, dim=False)), strip.cell_length)

    def _is_highlighted(self, line: int) -> bool:
        return line < len(self._lines) and self._lines[line][0] == self.highlighted
