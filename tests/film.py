"""A film of a screen as one SVG file: each line is a strip of what it showed, moved by CSS, without a script.

Lines that stay the same cost nothing, so half a minute of a chat is a few hundred kilobytes. Where nothing moves, as
in a reader that knows no animations or is asked for none, the still is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from rich.cells import cell_len
from rich.color import Color, ColorType
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME

CELL_WIDTH, LINE_HEIGHT, FONT_SIZE = 8.4, 18, 14
_PITCH = LINE_HEIGHT + 4
"""From one content of a line to the next; what lies between them keeps the edges of one out of the other."""
_PADDING, _HEAD = 12, 30
_FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_LIGHTS = ("#ff5f57", "#febc2e", "#28c840")


@dataclass(frozen=True, slots=True)
class Span:
    """Cells of one look."""

    text: str
    colour: str
    background: str
    look: str = ""
    """CSS for what is more than colour."""


Line = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """What was on the screen from a moment on, and what was done to get there."""

    at_s: float
    lines: tuple[Line, ...]
    caption: str = ""


def line_of(segments: Iterable[Segment], colour: str, background: str) -> Line:
    """A line of the screen; the colours are for cells that name none. Cells of one look become one span."""
    spans: list[Span] = []
    for segment in segments:
        if segment.control or not segment.text:
            continue
        span = _span(segment.text, segment.style or Style(), colour, background)
        if spans and (spans[-1].colour, spans[-1].background, spans[-1].look) == (
            span.colour,
            span.background,
            span.look,
        ):
            span = Span(spans.pop().text + span.text, span.colour, span.background, span.look)
        spans.append(span)
    return tuple(spans)


def _span(text: str, style: Style, colour: str, background: str) -> Span:
    front, back = _hex(style.color, colour, foreground=True), _hex(style.bgcolor, background, foreground=False)
    if style.reverse:
        front, back = back, front
    if style.dim:
        front = _between(front, back)
    lines = " ".join(name for name, on in (("underline", style.underline), ("line-through", style.strike)) if on)
    look = "font-weight:bold;" * bool(style.bold) + "font-style:italic;" * bool(style.italic)
    return Span(text, front, back, look + (f"text-decoration:{lines};" if lines else ""))


def _hex(colour: Color | None, default: str, *, foreground: bool) -> str:
    if colour is None or colour.type is ColorType.DEFAULT:
        return default
    return colour.get_truecolor(SVG_EXPORT_THEME, foreground).hex


def _between(front: str, back: str) -> str:
    """Half of each."""
    pairs = ((int(front[at : at + 2], 16), int(back[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{(one + other) // 2:02x}" for one, other in pairs)


class Film:
    """Frames of one size, put together as an SVG that begins again at its end."""

    def __init__(
        self, frames: Sequence[Frame], columns: int, *, length_s: float, still_s: float, title: str, background: str
    ) -> None:
        """The still is the frame of that moment."""
        self._frames = frames
        self._length_s = length_s
        self._still_s = still_s
        self._title = title
        self._background = background
        self._width = columns * CELL_WIDTH
        self._rows = len(frames[0].lines)
        self._classes: dict[tuple[str, str], str] = {}

    def svg(self, at_s: float | None = None) -> str:
        """The film; or what it shows at a moment, standing still."""
        height = self._rows * LINE_HEIGHT
        full_width, full_height = self._width + 2 * _PADDING, _HEAD + height + LINE_HEIGHT + 2 * _PADDING
        strips, keyframes = [], []
        for row in range(self._rows + 1):
            strip, moves = self._strip(row, self._still_s if at_s is None else at_s)
            strips.append(strip)
            keyframes += [moves] if moves and at_s is None else []
        looks = [f".{name}{{fill:{colour};{look}}}" for (colour, look), name in self._classes.items()]
        lights = "".join(
            f'<circle cx="{18 + 18 * n}" cy="16" r="5.5" fill="{fill}"/>' for n, fill in enumerate(_LIGHTS)
        )
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {full_width:g} {full_height:g}" '
                f'width="{full_width:g}" height="{full_height:g}">',
                f"<title>{escape(self._title)}</title>",
                "<style>",
                f"text{{font:{FONT_SIZE}px {_FONTS};white-space:pre}}",
                *looks,
                *keyframes,
                "@media (prefers-reduced-motion:reduce){g{animation:none!important}}",
                "</style>",
                f'<rect width="{full_width:g}" height="{full_height:g}" rx="9" fill="{self._background}"/>',
                lights,
                f'<text x="{full_width / 2:g}" y="21" fill="#8e979f" text-anchor="middle">{escape(self._title)}</text>',
                f'<svg x="{_PADDING}" y="{_HEAD}" width="{self._width:g}" height="{height + LINE_HEIGHT + _PADDING}">',
                *strips,
                "</svg>",
                "</svg>",
                "",
            ]
        )

    def _strip(self, row: int, still_s: float) -> tuple[str, str]:
        """All that a line showed, one below the other, and the rule that moves it; the line after the last is the
        caption's."""
        shown = [(frame.at_s, self._line(frame, row)) for frame in self._frames]
        places: dict[Line, int] = {}
        moves: list[tuple[float, int]] = []
        for at_s, line in shown:
            place = places.setdefault(line, len(places))
            if not moves or moves[-1][1] != place:
                moves.append((at_s, place))
        if not any(any(span.text.strip() or span.background != self._background for span in line) for line in places):
            return "", ""
        top = row * LINE_HEIGHT + (_PADDING if row == self._rows else 0)
        drawn = "".join(self._draw(line, place) for line, place in places.items())
        still = [place for at_s, place in moves if at_s <= still_s][-1:] or [0]
        strip = (
            f'<svg y="{top}" width="{self._width:g}" height="{LINE_HEIGHT}">'
            f'<g class="l{row}" transform="translate(0,{-still[0] * _PITCH})">{drawn}</g></svg>'
        )
        return strip, self._rule(row, moves)

    def _line(self, frame: Frame, row: int) -> Line:
        if row < self._rows:
            return frame.lines[row]
        key, _, what = frame.caption.partition("  ")
        return (
            Span(f" {key}", "#d5d9dc", self._background, "font-weight:bold;"),
            Span(f"  {what}", "#8e979f", self._background),
        )

    def _rule(self, row: int, moves: Sequence[tuple[float, int]]) -> str:
        if len(moves) < 2:
            return ""
        steps = "".join(
            f"{max(0.0, at_s) / self._length_s:.3%}{{transform:translateY({-place * _PITCH}px)}}"
            for at_s, place in moves
        )
        return (
            f".l{row}{{animation:k{row} {self._length_s:.1f}s step-end infinite}}"
            f"@keyframes k{row}{{{steps.replace('.000%', '%')}}}"
        )

    def _draw(self, line: Line, place: int) -> str:
        top, column = place * _PITCH, 0
        backs, texts = [], []
        for span in line:
            cells = cell_len(span.text)
            if span.background != self._background:
                backs.append(
                    f'<rect x="{column * CELL_WIDTH:.4g}" y="{top}" width="{cells * CELL_WIDTH:.4g}" '
                    f'height="{LINE_HEIGHT}" fill="{span.background}"/>'
                )
            texts.append(self._text(span, column, top))
            column += cells
        return "".join(backs + texts)

    def _text(self, span: Span, column: int, top: int) -> str:
        """Blank cells at the ends are drawn only where a line goes through them."""
        text = span.text
        if "text-decoration" not in span.look:
            text = text.rstrip()
            column += cell_len(text) - cell_len(text.lstrip())
            text = text.lstrip()
        if not text:
            return ""
        name = self._classes.setdefault((span.colour, span.look), f"c{len(self._classes)}")
        return (
            f'<text class="{name}" x="{column * CELL_WIDTH:.4g}" y="{top + 13.5:g}" '
            f'textLength="{cell_len(text) * CELL_WIDTH:.4g}">'
            f"{escape(text, quote=False).replace(' ', '&#160;')}</text>"
        )


def thinned(frames: Sequence[Frame]) -> list[Frame]:
    """Without those that show what the one before did."""
    kept: list[Frame] = []
    for frame in frames:
        if not kept or (kept[-1].lines, kept[-1].caption) != (frame.lines, frame.caption):
            kept.append(frame)
    return kept
