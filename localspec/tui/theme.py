"""LocalSpec's themes: colours for text, one accent, and dimmed text."""

from __future__ import annotations

from collections.abc import Mapping

from textual.color import Color
from textual.theme import Theme

from localspec.tui.tokens.palette import readable

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
    warning="#A84200",
    error="#B3261E",
    success="#1D7256",
    foreground="#23282C",
    background="#FBFAF7",
    surface="#F1EFEA",
    panel="#E8E5DE",
    dark=False,
    variables={"quiet": "#5F676E", "input-selection-background": "#1D7256 25%"},
)


HIGH_CONTRAST = Theme(
    name="localspec-high-contrast",
    primary="#5CE1FF",
    secondary="#E0E0E0",
    accent="#5CE1FF",
    warning="#FFB000",
    error="#FF9C8F",
    success="#7CFFB2",
    foreground="#FFFFFF",
    background="#000000",
    surface="#101010",
    panel="#404040",
    dark=True,
    variables={"quiet": "#E0E0E0", "input-selection-background": "#5CE1FF 40%"},
)

OWN_THEMES = (DARK, LIGHT, HIGH_CONTRAST)
TERMINAL_DARK, TERMINAL_LIGHT = "ansi-dark", "ansi-light"
"""Textual's themes of the terminal's own sixteen colours."""

_CHOICES = {"dark": DARK.name, "light": LIGHT.name, "high-contrast": HIGH_CONTRAST.name}
_LIGHT_BACKGROUNDS = ("7", "15")
_FEW_COLOURS = "standard"


def theme_for(choice: str, environ: Mapping[str, str], colours: str | None = None) -> str:
    """The name of the theme for what the settings say.

    ``COLORFGBG`` ends with the number of the terminal's background. ``colours`` is the terminal's range in Rich's
    words: where there are only sixteen, every choice takes those, since ours would come out as neighbours of theirs
    that cannot be told apart or read; what was chosen then says whether the terminal is dark or light.
    """
    light = environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_BACKGROUNDS
    if choice in _CHOICES:
        light = choice == "light"
    if choice == "terminal" or colours == _FEW_COLOURS:
        return TERMINAL_LIGHT if light else TERMINAL_DARK
    return _CHOICES.get(choice, LIGHT.name if light else DARK.name)


def quiet_colour(theme: Theme) -> str:
    """The colour of dimmed text, for themes that do not name one: between text and background, readable."""
    if theme.ansi:
        return "ansi_bright_black"
    colours = theme.to_color_system().generate()
    text, background = Color.parse(colours["foreground"]), Color.parse(colours["background"])
    return readable(text.blend(background, 0.35), background).hex
