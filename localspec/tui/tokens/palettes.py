"""The palette of the theme in force; asked for at every line drawn, so it is made once a theme."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.color import Color

from localspec.tui.tokens.palette import Palette, palette_for


class Palettes:
    """Call it for the palette of now."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._made: dict[str, Palette] = {}

    def __call__(self) -> Palette:
        app = self._app
        made = self._made.get(app.theme)
        if made is None:
            theme, background = app.current_theme, Color.parse(app.theme_variables["background"])
            made = palette_for(background, dark=theme.dark, ansi=theme.ansi, no_color=app.no_color)
            self._made[app.theme] = made
        return made
