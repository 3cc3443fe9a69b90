"""Themes: colours for text, one accent, and dimmed text. LocalSpec's, Textual's made readable, and the user's by file.

A theme of the user's own is a TOML file in the folder ``themes`` of the configuration, with colours as ``"#rrggbb"``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from localspec.base.bounded_file import read_file
from localspec.base.errors import InputError
from localspec.base.visible import visible_line
from localspec.config.statements import NOT_TOML
from localspec.tui.tokens.palette import MIN_CONTRAST, contrast, luminance, readable


def _theme(name: str, *, dark: bool, quiet: str, accent: str, selection: int = 30, **colours: Any) -> Theme:
    """A theme of one accent; ``selection`` is the share of it, in percent, behind selected text."""
    return Theme(
        name=name,
        primary=accent,
        secondary=quiet,
        accent=accent,
        dark=dark,
        variables={"quiet": quiet, "input-selection-background": f"{accent} {selection}%"},
        **colours,
    )


DARK = _theme(
    "localspec-dark",
    dark=True,
    background="#121518",
    surface="#1B1F23",
    panel="#22272C",
    foreground="#D5D9DC",
    quiet="#8E979F",
    accent="#6FBFA4",
    warning="#E8743B",
    error="#F07A6A",
    success="#6FBFA4",
)
LIGHT = _theme(
    "localspec-light",
    dark=False,
    background="#FBFAF7",
    surface="#F1EFEA",
    panel="#E8E5DE",
    foreground="#23282C",
    quiet="#5F676E",
    accent="#1D7256",
    warning="#A84200",
    error="#B3261E",
    success="#1D7256",
    selection=25,
)
HIGH_CONTRAST = _theme(
    "localspec-high-contrast",
    dark=True,
    background="#000000",
    surface="#101010",
    panel="#404040",
    foreground="#FFFFFF",
    quiet="#E0E0E0",
    accent="#5CE1FF",
    warning="#FFB000",
    error="#FF9C8F",
    success="#7CFFB2",
    selection=40,
)
OWN_THEMES = (DARK, LIGHT, HIGH_CONTRAST)
TERMINAL_DARK, TERMINAL_LIGHT = "ansi-dark", "ansi-light"
"""Textual's themes of the terminal's own sixteen colours."""

_CHOICES = {"dark": DARK.name, "light": LIGHT.name, "high-contrast": HIGH_CONTRAST.name}
_TEXTS = ("foreground", "accent", "error", "warning", "success")
_GROUNDS = ("background", "surface", "panel")
_NEEDED = ("background", "foreground", "accent")
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
_MOST_BYTES = 10_000
_SURFACE, _PANEL = 0.04, 0.08
"""The shares of the text's colour in the grounds that a file does not name."""
_MIDDLE = 0.18
"""The luminance between dark and light grounds."""
_LIGHT_BACKGROUNDS = ("7", "15")
_FEW_COLOURS = "standard"


def theme_for(
    choice: str, environ: Mapping[str, str], colours: str | None = None, themes: Mapping[str, Theme] = BUILTIN_THEMES
) -> str:
    """The name of the theme for what the settings say, which may be one of ``themes``.

    ``COLORFGBG`` ends with the number of the terminal's background. ``colours`` is the terminal's range in Rich's
    words: where there are only sixteen, every choice takes those, since ours would come out as neighbours of theirs
    that cannot be told apart or read; what was chosen then says whether the terminal is dark or light.
    """
    light = environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_BACKGROUNDS
    if choice in _CHOICES:
        light = choice == "light"
    elif choice in themes:
        light = not themes[choice].dark
    if choice == "terminal" or colours == _FEW_COLOURS:
        return TERMINAL_LIGHT if light else TERMINAL_DARK
    return choice if choice in themes else _CHOICES.get(choice, LIGHT.name if light else DARK.name)


def made_theme(choice: str, folder: Path) -> Theme | None:
    """A theme of Textual's whose text can be read, or one of ``folder``; None for a choice of LocalSpec's own.

    Raises InputError for a file that is no theme.
    """
    if choice in BUILTIN_THEMES:
        return _made_readable(BUILTIN_THEMES[choice])
    path = folder / f"{choice}.toml"
    return read_theme(path) if choice not in _CHOICES and path.exists() else None


def read_theme(path: Path) -> Theme:
    """The theme in a file. Raises InputError."""
    try:
        found = tomllib.loads(read_file(path, _MOST_BYTES).decode())
    except OSError as error:
        raise _no_theme(path, f"cannot be read ({error.strerror or error})") from None
    except NOT_TOML as error:
        raise _no_theme(path, f"is not TOML ({visible_line(str(error))})") from None
    for name, value in found.items():
        if name not in (*_TEXTS, *_GROUNDS, "quiet"):
            known = ", ".join((*_TEXTS, *_GROUNDS, "quiet"))
            raise _no_theme(path, f"has {visible_line(name)!r}, which is no colour of a theme", f"There are: {known}.")
        if not isinstance(value, str) or not _COLOUR.fullmatch(value):
            raise _no_theme(path, f"has no colour for {name}", 'Write it as "#rrggbb".')
    if missing := [name for name in _NEEDED if name not in found]:
        raise _no_theme(path, f"lacks {' and '.join(missing)}", 'Add a line such as accent = "#6fbfa4".')
    colours = _completed({name: Color.parse(value) for name, value in found.items()})
    _check_contrasts(path, colours)
    named: dict[str, Any] = {name: colour.hex for name, colour in colours.items()}
    return _theme(path.stem, dark=luminance(colours["background"]) < _MIDDLE, **named)


def _no_theme(path: Path, why: str, hint: str = "See the page of settings.") -> InputError:
    return InputError(f"The theme {visible_line(str(path))} {why}.", hint)


def _completed(colours: dict[str, Color]) -> dict[str, Color]:
    """The colours of a file and, for those that it leaves out, what goes with them."""
    ground, text = colours["background"], colours["foreground"]
    usual = DARK if luminance(ground) < _MIDDLE else LIGHT
    whole = {"surface": ground.blend(text, _SURFACE), "panel": ground.blend(text, _PANEL), **colours}
    worst = _worst_ground(whole)
    rest = {name: readable(Color.parse(str(getattr(usual, name))), worst) for name in ("error", "warning", "success")}
    return {"quiet": readable(text.blend(ground, 0.35), worst), **rest, **whole}


def _worst_ground(colours: Mapping[str, Color]) -> Color:
    """The ground on which the text is hardest to read."""
    return min((colours[name] for name in _GROUNDS), key=lambda ground: contrast(colours["foreground"], ground))


def _check_contrasts(path: Path, colours: Mapping[str, Color]) -> None:
    """Raise InputError for a text that cannot be read."""
    for name in (*_TEXTS, "quiet"):
        for ground in _GROUNDS:
            if (found := contrast(colours[name], colours[ground])) < MIN_CONTRAST:
                better = readable(colours[name], _worst_ground(colours)).hex.lower()
                raise _no_theme(
                    path,
                    f"has {name} {colours[name].hex.lower()} on {ground} {colours[ground].hex.lower()}, a contrast of "
                    f"{found:.1f}, and text needs {MIN_CONTRAST}",
                    f"{name} = {better!r} would do.".replace("'", '"'),
                )


def _made_readable(theme: Theme) -> Theme:
    """``theme`` with each colour of text moved in lightness until it can be read on all grounds."""
    generated = theme.to_color_system().generate()
    colours = {name: Color.parse(generated[name]) for name in (*_TEXTS, *_GROUNDS)}
    colours["foreground"] = readable(colours["foreground"], _worst_ground(colours))
    worst = _worst_ground(colours)
    texts = {name: readable(colours[name], worst).hex for name in _TEXTS}
    quiet = readable(colours["foreground"].blend(worst, 0.35), worst).hex
    return replace(theme, **texts, variables={**theme.variables, "quiet": quiet})  # type: ignore[arg-type]


def quiet_colour(theme: Theme) -> str:
    """The colour of dimmed text, for themes that do not name one: between text and background, readable."""
    if theme.ansi:
        return "ansi_bright_black"
    colours = theme.to_color_system().generate()
    text, background = Color.parse(colours["foreground"]), Color.parse(colours["background"])
    return readable(text.blend(background, 0.35), background).hex
