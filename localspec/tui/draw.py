"""One line of marked text as the segments a terminal shows.

Pure. White space at the edges of a token is not underlined, so that tokens can be told apart;
a token that is nothing but white space keeps its cue.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from localspec.engine.events import Proposal
from localspec.tui.marks import TAB_CELLS, Line, Run, drawable
from localspec.tui.palette import Palette

_NO_UNDERLINE = Style(underline=False)


def line_segments(line: Line, palette: Palette, base: Style, width: int) -> list[Segment]:
    """The line's visible part, at most ``width`` cells wide."""
    segments: list[Segment] = []
    column = 0
    for run in line.runs:
        style = base + palette.style(run.origin)
        if run.is_end:
            segments.append(Segment(run.text, style + palette.end_mark))
            continue
        for text, part_style in _parts(run, style, column):
            segments.append(Segment(text, part_style))
            column += segments[-1].cell_length
    return _fit(segments, width)


def ghost_segments(rejected: tuple[Proposal, ...], palette: Palette, base: Style, width: int) -> list[Segment]:
    """What the draft proposed and the target threw away, on the rest of one line."""
    text = drawable("".join(proposal.text for proposal in rejected).replace("\n", "⏎").replace("\t", " "))
    return _fit([Segment(text, base + palette.ghost)], width) if text else []


def _parts(run: Run, style: Style, column: int) -> Iterator[tuple[str, Style]]:
    text = drawable(_expand_tabs(run.text.removesuffix("\n"), column))
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
