"""The styles of tokens in every mode: a colour, and a second cue that remains without colour.

The hues are those of Okabe and Ito, chosen on white in such lightness that colour-blind readers tell them apart there
too. Each is moved in lightness until its contrast to the background is 4.5:1. Without colour, underline and bold
remain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.style import Style as ContentStyle

from localspec.base.token_legend import ON_DARK, ON_LIGHT
from localspec.chat.tokens.marking import HEAT_KINDS, OTHER, ROUND_KINDS, UNKNOWN, MarkMode
from localspec.engine.drafters import drafter_declarations
from localspec.engine.events import Origin

MIN_CONTRAST = 4.5
"""WCAG's threshold for text."""

_ANSI_DARK = {Origin.ACCEPTED: "bright_cyan", Origin.CORRECTED: "bright_red", Origin.BONUS: "bright_yellow"}
_ANSI_LIGHT = {Origin.ACCEPTED: "blue", Origin.CORRECTED: "red", Origin.BONUS: "magenta"}
"""The other of the sixteen colours are too bright to be read on white."""


@dataclass(frozen=True, slots=True)
class _Hues:
    """The colours of heat and rounds, before they are made readable."""

    heat: tuple[str | None, ...]
    """From the likeliest tokens to the least likely; None is the text's own."""
    rounds: str


_HUES = {
    (True, False): _Hues((None, "#F0E442", "#E69F00", "#E8743B", "#E8743B"), "#56B4E9"),
    (False, False): _Hues((None, "#7A6A00", "#9A6200", "#C04A00", "#C04A00"), "#0072B2"),
    (True, True): _Hues((None, "bright_yellow", "bright_yellow", "bright_red", "bright_red"), "bright_cyan"),
    (False, True): _Hues((None, "magenta", "magenta", "red", "red"), "blue"),
}
"""The hues by (the theme is dark, the theme leaves colours to the terminal)."""


@dataclass(frozen=True, slots=True)
class DrafterMark:
    """A mark that a drafter's file names: a cue, and the colour on a dark and on a light ground."""

    cue: Style
    dark: str
    light: str
    ansi_dark: str
    ansi_light: str

    def hue(self, *, dark: bool, ansi: bool) -> str:
        if ansi:
            return self.ansi_dark if dark else self.ansi_light
        return self.dark if dark else self.light


DRAFTER_MARKS: Mapping[str, DrafterMark] = {
    "blue": DrafterMark(Style(underline=True), "#56B4E9", "#0072B2", "bright_cyan", "blue"),
    "green": DrafterMark(Style(bold=True), "#2FB58C", "#006E50", "bright_green", "red"),
    "orange": DrafterMark(Style(italic=True), "#E69F00", "#9A6200", "bright_yellow", "magenta"),
    "yellow": DrafterMark(Style(italic=True, underline=True), "#F0E442", "#7A6A00", "bright_yellow", "magenta"),
    "red": DrafterMark(Style(italic=True, bold=True), "#E8743B", "#C04A00", "bright_red", "red"),
    "white": DrafterMark(Style(reverse=True), "#BBBBBB", "#555555", "bright_white", "black"),
    "purple": DrafterMark(Style(bold=True, underline=True), "#D98CB8", "#943C73", "bright_magenta", "magenta"),
}
"""The marks of drafters by name. The blue one is that of accepted tokens."""
_OTHER_MARK = "purple"
"""The mark of drafters that name none, or that this version does not know."""

_HEAT_CUES = (
    Style(),
    Style(underline=True),
    Style(bold=True),
    Style(bold=True, underline=True),
    Style(bold=True, reverse=True),
)

UNMARKED = Style()
GHOST = Style(dim=True, strike=True)
GHOST_MEANING = "guessed and thrown away; shown for a moment, never part of the text"


@dataclass(frozen=True, slots=True)
class Palette:
    """The styles of marks by mode and kind; other kinds are not marked."""

    marks: Mapping[MarkMode, Mapping[str, Style]]

    def mark(self, mode: MarkMode, kind: str) -> Style:
        """The style of segments of this kind, in any mode."""
        return self.marks.get(mode, {}).get(kind, UNMARKED)

    def mark_look(self, mode: MarkMode, kind: str) -> ContentStyle:
        """The same, for Textual's content."""
        return ContentStyle.from_rich_style(self.mark(mode, kind))

    def look(self, origin: Origin) -> ContentStyle:
        """The same of an origin."""
        return self.mark_look(MarkMode.ORIGIN, origin)


def palette_for(background: Color, *, dark: bool, ansi: bool = False, no_color: bool = False) -> Palette:
    """The palette for a theme; ``ansi`` themes leave the colours to the terminal."""

    def shown(hue: str | None) -> str | None:
        if hue is None or no_color:
            return None
        return hue if ansi else readable(Color.parse(hue), background).hex

    origins = (_ANSI_DARK if dark else _ANSI_LIGHT) if ansi else (ON_DARK if dark else ON_LIGHT)
    hues = _HUES[dark, ansi]
    return Palette(
        {
            MarkMode.SUBTLE: {str(origin): cue for origin, cue in _ORIGIN_CUES.items()},
            MarkMode.ORIGIN: {
                str(origin): cue + Style(color=shown(origins.get(origin))) for origin, cue in _ORIGIN_CUES.items()
            },
            MarkMode.DRAFTER: {
                kind: DRAFTER_MARKS[mark].cue + Style(color=shown(DRAFTER_MARKS[mark].hue(dark=dark, ansi=ansi)))
                for kind, mark in drafter_marks().items()
            },
            MarkMode.HEAT: {
                kind: cue + Style(color=shown(hue))
                for kind, cue, hue in zip(HEAT_KINDS, _HEAT_CUES, hues.heat, strict=False)
                if kind != UNKNOWN
            },
            MarkMode.ROUNDS: dict(zip(ROUND_KINDS, _round_marks(shown(hues.rounds)), strict=True)),
        },
    )


class Palettes:
    """Call it for the palette of the present theme. It is needed for every drawn line, so it is made once per theme."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._made: dict[str, Palette] = {}

    def forget(self) -> None:
        """Make them anew: a theme may have got other colours."""
        self._made.clear()

    def __call__(self) -> Palette:
        app = self._app
        made = self._made.get(app.theme)
        if made is None:
            theme, background = app.current_theme, Color.parse(app.theme_variables["background"])
            made = palette_for(background, dark=theme.dark, ansi=theme.ansi, no_color=app.no_color)
            self._made[app.theme] = made
        return made


_ORIGIN_CUES: Mapping[Origin, Style] = {
    Origin.ACCEPTED: Style(underline=True),
    Origin.CORRECTED: Style(bold=True),
    Origin.BONUS: Style(bold=True, underline=True),
    Origin.PLAIN: Style(),
}


def drafter_marks() -> dict[str, str]:
    """The name of the mark of each drafter, and of the kind for those that are not known."""
    named = {name: declaration.mark or "" for name, declaration in drafter_declarations().items()}
    marks = {name: mark if mark in DRAFTER_MARKS else _OTHER_MARK for name, mark in named.items()}
    return {**marks, OTHER: _OTHER_MARK}


def _round_marks(colour: str | None) -> tuple[Style, ...]:
    """Odd rounds are a stroke, even ones are bare; the target's own token, the last of each, is bold."""
    odd = Style(underline=True, color=colour)
    return odd, odd + Style(bold=True), Style(), Style(bold=True)


def readable(colour: Color, background: Color) -> Color:
    """``colour``, moved towards white or black until it can be read on ``background``."""
    pole = Color(255, 255, 255) if luminance(background) < 0.18 else Color(0, 0, 0)
    for step in range(21):
        candidate = colour.blend(pole, step / 20)
        if contrast(candidate, background) >= MIN_CONTRAST:
            return candidate
    return pole


def contrast(one: Color, other: Color) -> float:
    """WCAG 2 contrast ratio, 1 to 21."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: Color) -> float:
    """WCAG 2 relative luminance, 0 to 1."""

    def linear(channel: float) -> float:
        return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)

    red, green, blue = (linear(channel) for channel in colour.normalized)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
