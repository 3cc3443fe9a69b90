"""The widget of a reply as marked tokens, light enough to draw while the model is computing.

Append-only. Only lines that have changed and can be seen are drawn, and the screen is laid out again only when the
number of lines changes. White space at the edges of a token is not underlined, so that tokens can be told apart; a
token of white space alone keeps its underline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from localspec.base.visible import visible
from localspec.chat.tokens.inspectable_reply import InspectableReply
from localspec.chat.tokens.marking import MarkMode
from localspec.engine.events import Proposal
from localspec.tui.textual_fixes.single_layout import SingleLayout
from localspec.tui.tokens.layout import TAB_CELLS, Line, TokenLayout, TokenSpan, ghost_text
from localspec.tui.tokens.palette import GHOST, UNMARKED, Palette

_CURSOR = Style(reverse=True)
_NO_UNDERLINE = Style(underline=False)
_END_MARK = Style(dim=True)
"""Added to the style of the token that the mark of the end belongs to."""

Look = Callable[[TokenSpan], Style]
"""Gives the style of a run."""


class TokenView(SingleLayout):
    """The marked lines of a reply; rejected proposals may follow the last token for a moment."""

    DEFAULT_CSS = "TokenView { width: 100%; height: auto; }"

    class Picked(Message):
        """A token was clicked."""

        def __init__(self, view: TokenView, token: int) -> None:
            super().__init__()
            self.view = view
            self.token = token

    def __init__(self, palette: Callable[[], Palette], reply: InspectableReply, *, calls: bool = False) -> None:
        """``reply`` has the tokens; none is laid out before the first ``extend``. ``calls`` as for ``TokenLayout``."""
        super().__init__()
        self._palette = palette
        self._reply = reply
        self._layout = TokenLayout(reply, 80, calls=calls)
        self._strips: dict[int, Strip] = {}
        self.ghosts: tuple[Proposal, ...] = ()
        """The rejected proposals that are on screen now."""
        self.mode = MarkMode.ORIGIN
        """The mode in which tokens are marked."""
        self._cursor: int | None = None
        self._weighed_n = 0

    @property
    def complete(self) -> bool:
        """True if all tokens that are to be shown now are laid out."""
        return self._layout.complete

    def extend(self, ghosts: tuple[Proposal, ...] = ()) -> None:
        """Append the tokens that the reply has got since, and show these ghosts in place of those before."""
        self.ghosts = () if self._reply.held_n else ghosts
        self._changed(self._layout.extend())

    def fade(self) -> None:
        """Take the rejected proposals after the last token off the screen."""
        if self.ghosts:
            self.ghosts = ()
            self._changed(len(self._layout.lines) - 1)

    def finish(self) -> None:
        """Take the reply as complete."""
        self.ghosts = ()
        self._changed(self._layout.finish())

    def mark(self, mode: MarkMode, *, keep_ghosts: bool) -> None:
        """Mark tokens in this mode, with or without the rejected proposals among them."""
        relaid = self._layout.keep_ghosts(keep_ghosts)
        if relaid or mode is not self.mode:
            self.mode = mode
            self._changed(0)

    def learned(self) -> None:
        """Draw the marks again: more may be known about the tokens."""
        start, self._weighed_n = self._weighed_n, len(self._reply.probs)
        if self.mode is MarkMode.HEAT and start < self._weighed_n:
            self._changed(self._layout.lines_of(start).start, same_height=True)

    def move_cursor(self, token: int | None) -> int:
        """Point at a token; returns the line it is on."""
        for changed in (self._cursor, token):
            if changed is not None:
                for y in self._layout.lines_of(changed):
                    self._strips.pop(y, None)
        self._cursor = None if token is None else self._layout.owner_of(token)
        self.refresh()
        return 0 if token is None else self._layout.lines_of(token).start

    def neighbour(self, token: int, lines: int) -> int:
        """The token above (``lines`` < 0) or below a token, as near to its column as there is one."""
        y = self._layout.lines_of(token).start
        column = column_of(self._layout.lines[y], self._layout.owner_of(token))
        other = max(0, min(y + lines, len(self._layout.lines) - 1))
        line = self._layout.lines[other]
        found = token_at(line, column)
        return found if found is not None else (line.runs[-1].token if line.runs else token)

    def _changed(self, first: int, *, same_height: bool = False) -> None:
        """Have the lines from ``first`` on drawn again."""
        for y in range(first, len(self._layout.lines)):
            self._strips.pop(y, None)
        height = len(self._layout.lines)
        relay = not same_height and height != self.size.height
        self.refresh(Region(0, first, max(self.size.width, 1), height - first), layout=relay)

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
        """The line with the offset of each segment, which mouse selection needs; drawing a screen does without."""
        return self._strip(y, self.text_selection).apply_offsets(0, y)

    def render_lines(self, crop: Region) -> list[Strip]:
        selection, span = self.text_selection, crop.column_span
        strips = [self._strip(y, selection) for y in crop.line_range]
        return strips if span == (0, self.size.width) else [strip.crop(*span) for strip in strips]

    def _strip(self, y: int, selection: Selection | None) -> Strip:
        if selection is not None:
            return self._draw(y, selection)
        if y not in self._strips:
            self._strips[y] = self._draw(y, None)
        return self._strips[y]

    def _look(self, run: TokenSpan) -> Style:
        style = self._palette().mark(self.mode, self._reply.kind(self.mode, run.token))
        return style + _CURSOR if run.token == self._cursor else style

    def _draw(self, y: int, selection: Selection | None) -> Strip:
        width, base = self.size.width, self.rich_style
        lines = self._layout.lines
        if y >= len(lines):
            return Strip.blank(width, base)
        segments = line_segments(lines[y], base, width, self._look)
        strip = Strip(segments)
        if selection is not None and (span := selection.get_span(y)) is not None:
            strip = self._highlight(strip, *span)
        if self.ghosts and y == len(lines) - 1:
            room = width - strip.cell_length
            strip = Strip([*strip, *ghost_segments(self.ghosts, base, room)])
        strip = strip.extend_cell_length(width, base).simplify()
        background = self.background_colors[1]
        for line_filter in self.get_line_filters():
            strip = strip.apply_filter(line_filter, background)
        return strip

    def _highlight(self, strip: Strip, start: int, end: int) -> Strip:
        style: Style = self.screen.get_component_rich_style("screen--selection")
        stop = strip.cell_length if end < 0 else min(end, strip.cell_length)
        before, selected, after = strip.crop(0, start), strip.crop(start, stop), strip.crop(stop)
        return Strip.join([before, selected.apply_style(style), after])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected part of the reply as the model wrote it, without ghosts and without the breaks of wrapping."""
        parts = []
        for y, line in enumerate(self._layout.lines):
            if (span := selection.get_span(y)) is not None:
                parts.append(selected_text(line, *span))
        return "".join(parts), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self._strips.clear()
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        if self.text_selection is None and event.y < len(self._layout.lines):
            token = token_at(self._layout.lines[event.y], event.x)
            if token is not None:
                event.stop()
                self.post_message(self.Picked(self, token))

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()


def line_segments(line: Line, base: Style, width: int, look: Look) -> list[Segment]:
    """The line's visible part, at most ``width`` cells wide."""
    return _fit([segment for _, segment in _drawn(line, base, look)], width)


def ghost_segments(rejected: tuple[Proposal, ...], base: Style, width: int) -> list[Segment]:
    """The rejected proposals, on the rest of one line."""
    text = ghost_text(rejected)
    return _fit([Segment(text, base + GHOST)], width) if text else []


def token_at(line: Line, column: int) -> int | None:
    """The token drawn in this column of a line; a ghost counts as the token that replaced it. None past the text."""
    for run, segment in _drawn(line, UNMARKED, lambda run: UNMARKED):
        column -= segment.cell_length
        if column < 0:
            return run.token
    return None


def column_of(line: Line, token: int) -> int:
    """The first column of a token on a line; 0 if it is not there."""
    column = 0
    for run, segment in _drawn(line, UNMARKED, lambda run: UNMARKED):
        if run.token == token and not run.is_ghost:
            return column
        column += segment.cell_length
    return 0


def selected_text(line: Line, start: int, end: int) -> str:
    """The reply's own text between two characters of a drawn line; ``end`` < 0 is the end of the line."""
    parts: list[str] = []
    at = column = 0
    for run in line.runs:
        for character in run.text:
            shown = _expand_tabs(character, column) if character != "\n" else ""
            if start <= at and (end < 0 or at + len(shown) <= end) and not (run.is_end or run.is_ghost):
                parts.append(character)
            at += len(shown)
            column += cell_len(shown)
    return "".join(parts)


def _drawn(line: Line, base: Style, look: Look) -> Iterator[tuple[TokenSpan, Segment]]:
    column = 0
    for run in line.runs:
        style = base + look(run)
        if run.is_end:
            yield run, Segment(run.text, style + _END_MARK)
            continue
        for text, part_style in _parts(run, base + GHOST if run.is_ghost else style, column):
            segment = Segment(text, part_style)
            column += segment.cell_length
            yield run, segment


def _parts(run: TokenSpan, style: Style, column: int) -> Iterator[tuple[str, Style]]:
    text = visible(_expand_tabs(run.text.removesuffix("\n"), column))
    word = text.strip(" ")
    joined = bool(word) and not cell_len(word[0])
    if not word or joined or not style.underline:
        if text:
            yield text, style
        return
    lead, _, trail = text.partition(word)
    if lead:
        yield lead, style + _NO_UNDERLINE
    yield word, style
    if trail:
        yield trail, style + _NO_UNDERLINE


def _expand_tabs(text: str, column: int) -> str:
    if "\t" not in text:
        return text
    parts = []
    for character in text:
        part = " " * (TAB_CELLS - column % TAB_CELLS) if character == "\t" else character
        column += Segment(part).cell_length
        parts.append(part)
    return "".join(parts)


def _fit(segments: list[Segment], width: int) -> list[Segment]:
    """The segments up to ``width`` cells."""
    fitted: list[Segment] = []
    for segment in segments:
        if width <= 0:
            break
        if segment.cell_length > width:
            segment = Segment(set_cell_size(segment.text, width), segment.style)
        fitted.append(segment)
        width -= segment.cell_length
    return fitted
