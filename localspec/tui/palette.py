"""How a token's origin looks: a colour, and a second cue that survives without colour.

The hues are Okabe and Ito's, told apart by colour-blind readers too; each is moved in lightness until
it has a contrast of 4.5:1 against the background at hand. Without colour, underline and bold remain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.style import Style
from textual.color import Color
from textual.style import Style as ContentStyle

from localspec.engine.events import Origin

MIN_CONTRAST = 4.5
"""WCAG's threshold for text."""

_DARK = {Origin.ACCEPTED: "#56B4E9", Origin.CORRECTED: "#E8743B", Origin.BONUS: "#F0E442"}
_LIGHT = {Origin.ACCEPTED: "#0072B2", Origin.CORRECTED: "#C04A00", Origin.BONUS: "#8A7400"}
_ANSI_DARK = {Origin.ACCEPTED: "bright_cyan", Origin.CORRECTED: "bright_red", Origin.BONUS: "bright_yellow"}
_ANSI_LIGHT = {Origin.ACCEPTED: "blue", Origin.CORRECTED: "red", Origin.BONUS: "yellow"}

MEANINGS: Mapping[Origin, str] = {
    Origin.ACCEPTED: "the draft guessed it, the target agreed",
    Origin.CORRECTED: "the target's own word for a wrong guess",
    Origin.BONUS: "the target's extra after a draft all right",
    Origin.PLAIN: "the target's own, where no guess was made",
}
"""What the legend says about each origin."""

GHOST_MEANING = "guessed and thrown away; shown for a moment, never part of the text"


@dataclass(frozen=True, slots=True)
class Palette:
    """One style for each origin, and one for ghosts."""

    styles: Mapping[Origin, Style]
    ghost: Style = field(default_factory=lambda: Style(dim=True, strike=True))
    end_mark: Style = field(default_factory=lambda: Style(dim=True))
    """Added to the origin's style for the mark that stands for the end of the reply."""

    def style(self, origin: Origin) -> Style:
        """For segments."""
        return self.styles[origin]

    def look(self, origin: Origin) -> ContentStyle:
        """The same, for Textual's content."""
        return ContentStyle.from_rich_style(self.styles[origin])


def palette_for(background: Color, *, dark: bool, ansi: bool = False, no_color: bool = False) -> Palette:
    """The palette for a theme; ``ansi`` themes leave the colours to the terminal."""
    if no_color:
        return _with_cues({})
    if ansi:
        return _with_cues(_ANSI_DARK if dark else _ANSI_LIGHT)
    hues = _DARK if dark else _LIGHT
    return _with_cues({origin: readable(Color.parse(hue), background).hex for origin, hue in hues.items()})


def _with_cues(colours: Mapping[Origin, str]) -> Palette:
    return Palette(
        {
            Origin.ACCEPTED: Style(color=colours.get(Origin.ACCEPTED), underline=True),
            Origin.CORRECTED: Style(color=colours.get(Origin.CORRECTED), bold=True),
            Origin.BONUS: Style(color=colours.get(Origin.BONUS), bold=True, underline=True),
            Origin.PLAIN: Style(),
        }
    )


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
