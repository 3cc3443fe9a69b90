"""One line of marked text as the segments a terminal shows.

Pure. White space at the edges of a token is not underlined, so that tokens can be told apart;
a token that is nothing but white space keeps its cue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from localspec.base.visible import visible
from localspec.engine.events import Origin, Proposal
from localspec.tui.tokens.layout import TAB_CELLS, Line, TokenSpan, ghost_text
from localspec.tui.tokens.palette import Palette

_NO_UNDERLINE = Style(underline=False)
_UNMARKED = Palette(dict.fromkeys(Origin, Style()))


Look = Callable[[TokenSpan], Style]
"""How a run is marked."""


def line_segments(line: Line, palette: Palette, base: Style, width: int, look: Look | None = None) -> list[Segment]:
    """The line's visible part, at most ``width`` cells wide; marked by origin unless ``look`` says otherwise."""
    return _fit([segment for _, segment in _drawn(line, palette, base, look)], width)


def ghost_segments(rejected: tuple[Proposal, ...], palette: Palette, base: Style, width: int) -> list[Segment]:
    """What the draft proposed and the target threw away, on the rest of one line."""
    text = ghost_text(rejected)
    return _fit([Segment(text, base + palette.ghost)], width) if text else []


def token_at(line: Line, column: int) -> int | None:
    """The token drawn in this column of a line; a ghost counts as the token that replaced it. None past the text."""
    for run, segment in _drawn(line, _UNMARKED, Style(), None):
        column -= segment.cell_length
        if column < 0:
            return run.token
    return None


def column_of(line: Line, token: int) -> int:
    """The first column of a token on a line; 0 if it is not there."""
    column = 0
    for run, segment in _drawn(line, _UNMARKED, Style(), None):
        if run.token == token and not run.is_ghost:
            return column
        column += segment.cell_length
    return 0


def selected_text(line: Line, start: int, end: int) -> str:
    """The reply's own text between two places of a drawn line, counted in characters; ``end`` < 0 is all of it."""
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


def _drawn(line: Line, palette: Palette, base: Style, look: Look | None) -> Iterator[tuple[TokenSpan, Segment]]:
    column = 0
    for run in line.runs:
        style = base + (look(run) if look else palette.style(run.origin))
        if run.is_end:
            yield run, Segment(run.text, style + palette.end_mark)
            continue
        for text, part_style in _parts(run, base + palette.ghost if run.is_ghost else style, column):
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
