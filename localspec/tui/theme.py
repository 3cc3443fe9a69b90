"""LocalSpec's two themes: the text, one accent, and dim for what is secondary."""

from __future__ import annotations

from collections.abc import Mapping

from textual.color import Color
from textual.theme import Theme

from localspec.tui.palette import readable

DARK = Theme(
    name="localspec-dark",
    primary="#6FBFA4",
    secondary="#8E979F",
    accent="#6FBFA4",
    warning="#E8743B",
    error="#F07A6A",
    success="#6FBFA4",
    foreground="#D5D9DC",
    background="#121518",
    surface="#1B1F23",
    panel="#22272C",
    dark=True,
    variables={"quiet": "#8E979F", "input-selection-background": "#6FBFA4 30%"},
)

LIGHT = Theme(
    name="localspec-light",
    primary="#1D7256",
    secondary="#5F676E",
    accent="#1D7256",
    warning="#B34700",
    error="#B3261E",
    success="#1D7256",
    foreground="#23282C",
    background="#FBFAF7",
    surface="#F1EFEA",
    panel="#E8E5DE",
    dark=False,
    variables={"quiet": "#5F676E", "input-selection-background": "#1D7256 25%"},
)


def preferred_theme(environ: Mapping[str, str]) -> str:
    """The theme that suits the terminal, as far as it tells: ``COLORFGBG`` ends with its background's number."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT.name if background in ("7", "15") else DARK.name


def quiet_colour(theme: Theme) -> str:
    """The colour of what is secondary, for themes that do not name one: between text and background, readable."""
    if theme.ansi:
        return "ansi_bright_black"
    colours = theme.to_color_system().generate()
    text, background = Color.parse(colours["foreground"]), Color.parse(colours["background"])
    return readable(text.blend(background, 0.35), background).hex
