"""What the colours have to be: readable, and never the only cue."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import dist

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from rich.style import Style
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from localspec.base.token_legend import MEANINGS
from localspec.chat.tokens.marking import HEAT_KINDS, ROUND_KINDS, TARGET, UNKNOWN, MarkMode, kinds_of
from localspec.engine.drafters import DrafterDeclaration, drafter_declarations
from localspec.engine.events import Origin
from localspec.tui.theme import DARK, LIGHT, OWN_THEMES, theme_for
from localspec.tui.tokens import palette as palette_module
from localspec.tui.tokens.palette import DRAFTER_MARKS, MIN_CONTRAST, Palette, contrast, palette_for
from tests.tui.test_themes import SIXTEEN, in_256

THEMES = [DARK, LIGHT, *(theme for theme in BUILTIN_THEMES.values() if not theme.ansi)]


def colour(theme: Theme, name: str) -> Color:
    return Color.parse(theme.to_color_system().generate()[name])


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: str(theme.name))
def test_every_mark_can_be_read_on_every_theme(theme: Theme) -> None:
    """Contrast is at least 4.5:1 on the background of each theme that one can choose."""
    background = colour(theme, "background")
    palette = palette_for(background, dark=theme.dark)
    for origin in (Origin.ACCEPTED, Origin.CORRECTED, Origin.BONUS):
        mark = palette.mark(MarkMode.ORIGIN, origin).color
        assert mark is not None
        assert mark.triplet is not None
        assert contrast(Color(*mark.triplet), background) >= MIN_CONTRAST


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: str(theme.name))
def test_the_text_of_our_themes_can_be_read(theme: Theme) -> None:
    """So can what is secondary, the accent and errors, on all our backgrounds."""
    variables = theme.variables | {"foreground": theme.foreground, "accent": theme.accent, "error": theme.error}
    for name in ("foreground", "quiet", "accent", "error"):
        for background in (theme.background, theme.surface):
            ratio = contrast(Color.parse(str(variables[name])), Color.parse(str(background)))
            assert ratio >= MIN_CONTRAST, f"{name} on {background}: {ratio:.2f}"


@pytest.mark.parametrize("arguments", [{"dark": True}, {"dark": False}, {"dark": True, "ansi": True}])
def test_no_two_origins_look_alike_without_colour(arguments: dict[str, bool]) -> None:
    """Bold and underline alone tell the four origins apart, with the same cues in every theme."""
    palette = palette_for(Color.parse("#000000"), **arguments)
    bare = palette_for(Color.parse("#000000"), dark=True, no_color=True)
    cues = {
        origin: (
            bool(palette.mark(MarkMode.ORIGIN, origin).bold),
            bool(palette.mark(MarkMode.ORIGIN, origin).underline),
        )
        for origin in Origin
    }
    assert len(set(cues.values())) == len(Origin)
    for origin in Origin:
        assert bare.mark(MarkMode.ORIGIN, origin).color is None
        assert (
            bool(bare.mark(MarkMode.ORIGIN, origin).bold),
            bool(bare.mark(MarkMode.ORIGIN, origin).underline),
        ) == cues[origin]


def test_every_origin_has_a_meaning() -> None:
    """The legend leaves nobody out."""
    assert set(MEANINGS) == set(Origin)


def test_a_light_terminal_gets_the_light_theme() -> None:
    """As far as the terminal tells its background; dark otherwise."""
    assert theme_for("auto", {"COLORFGBG": "0;15"}) == LIGHT.name
    assert theme_for("auto", {"COLORFGBG": "15;0"}) == DARK.name
    assert theme_for("auto", {}) == DARK.name


COLOURLESS = [
    *((mode, kind) for mode in (MarkMode.OFF, MarkMode.SUBTLE) for kind in kinds_of(mode)),
    (MarkMode.ORIGIN, Origin.PLAIN),
    (MarkMode.DRAFTER, TARGET),
    (MarkMode.HEAT, HEAT_KINDS[0]),
    (MarkMode.HEAT, UNKNOWN),
    *((MarkMode.ROUNDS, kind) for kind in ROUND_KINDS[2:]),
]
"""The kinds that keep the colour of the text."""
MARKED = [
    *((mode, kind) for mode in MarkMode for kind in kinds_of(mode) if (mode, kind) not in COLOURLESS),
    *((MarkMode.DRAFTER, mark) for mark in DRAFTER_MARKS),
]


def marked(palette: Palette, mode: MarkMode, kind: str) -> RichColor:
    """The colour of a kind that has one."""
    mark = palette.mark(mode, kind).color
    assert mark is not None, (mode, kind)
    return mark


@pytest.fixture(autouse=True)
def a_drafter_for_each_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside those there are, so that marks are held to the laws before a drafter has them."""
    every = {mark: DrafterDeclaration("", mark, point_mass=False) for mark in DRAFTER_MARKS}
    monkeypatch.setattr(palette_module, "drafter_declarations", lambda: {**drafter_declarations(), **every})


def test_every_mark_has_a_cue_of_its_own() -> None:
    """Without colour, too."""
    assert len({cue(mark.cue) for mark in DRAFTER_MARKS.values()}) == len(DRAFTER_MARKS)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: str(theme.name))
def test_every_mode_can_be_read_on_every_theme(theme: Theme) -> None:
    """Each colour of each mode has a contrast of 4.5:1; also reversed, which is the same two colours."""
    background = colour(theme, "background")
    palette = palette_for(background, dark=theme.dark)
    for mode, kind in MARKED:
        mark = marked(palette, mode, kind).triplet
        assert mark is not None, (mode, kind)
        assert contrast(Color(*mark), background) >= MIN_CONTRAST, (mode, kind)
    assert all(palette.mark(mode, kind).color is None for mode, kind in COLOURLESS)


@pytest.mark.parametrize("mode", [mode for mode in MarkMode if mode is not MarkMode.OFF])
def test_no_mode_goes_by_colour_alone(mode: MarkMode) -> None:
    """Without colour the kinds of a mode still differ, and their cues are those of every theme.

    Tokens by an unknown drafter have a look of their own; those of unknown heat look like the likeliest.
    """
    palettes = [
        palette_for(Color.parse("#000000"), dark=True, no_color=True),
        palette_for(Color.parse("#000000"), dark=True),
        palette_for(Color.parse("#ffffff"), dark=False),
        palette_for(Color.parse("#000000"), dark=True, ansi=True),
        palette_for(Color.parse("#ffffff"), dark=False, ansi=True),
    ]
    kinds = [kind for kind in kinds_of(mode) if kind != UNKNOWN]
    cues = [[cue(palette.mark(mode, kind)) for kind in kinds] for palette in palettes]
    assert all(palettes[0].mark(mode, kind).color is None for kind in kinds)
    assert all(other == cues[0] for other in cues)
    assert len(set(cues[0])) == len(kinds)


def test_no_marks_are_no_marks() -> None:
    """The mode that is off leaves every token as the theme has text."""
    palette = palette_for(Color.parse("#000000"), dark=True)
    assert all(palette.mark(MarkMode.OFF, kind) == Style() for kind in kinds_of(MarkMode.OFF))


@pytest.mark.parametrize("theme", OWN_THEMES, ids=lambda theme: str(theme.name))
def test_256_colours_are_as_readable(theme: Theme) -> None:
    """The nearest of them, on the nearest to the background."""
    background = Color.parse(str(theme.background))
    palette = palette_for(background, dark=theme.dark)
    for mode, kind in MARKED:
        mark = Color(*marked(palette, mode, kind).get_truecolor())
        assert contrast(in_256(mark), in_256(background)) >= MIN_CONTRAST, (mode, kind)


@pytest.mark.parametrize("terminal", SIXTEEN)
@pytest.mark.parametrize("dark", [True, False])
def test_a_terminal_s_own_sixteen_are_as_readable(terminal: str, dark: bool) -> None:
    """On black or white, as two kinds of terminal mix them: what is taken where there are no more."""
    sixteen, background = SIXTEEN[terminal], Color.parse("#000000" if dark else "#ffffff")
    palette = palette_for(background, dark=dark, ansi=True)
    for mode, kind in MARKED:
        number = marked(palette, mode, kind).number
        assert number is not None, (mode, kind)
        assert contrast(Color(*sixteen[number]), background) >= MIN_CONTRAST, (mode, kind)


def test_a_theme_that_is_insisted_on_stays_visible_in_sixteen_colours() -> None:
    """The nearest ones still stand out from our dark background; the cues stay as they are."""
    background = Color.parse(str(DARK.background))
    palette = palette_for(background, dark=True)
    for mode, kind in MARKED:
        nearest = marked(palette, mode, kind).downgrade(ColorSystem.STANDARD).get_truecolor()
        assert contrast(Color(*nearest), background) >= 3, (mode, kind)


SEEN_BY = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""What becomes of linear red, green and blue (Machado, Oliveira and Fernandes, 2009, severity 1)."""
_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
_WHITE = (0.9505, 1.0, 1.089)


def lab(colour: Color, reader: str) -> tuple[float, float, float]:
    """CIELAB of what this reader sees."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour.normalized]
    seen = [min(1.0, max(0.0, sumprod(row, linear))) for row in SEEN_BY[reader]]
    x, y, z = (_root(sumprod(row, seen) / white) for row, white in zip(_XYZ, _WHITE, strict=True))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def sumprod(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _root(value: float) -> float:
    return float(value ** (1 / 3)) if value > 0.008856 else 7.787 * value + 16 / 116


@pytest.mark.parametrize("theme", OWN_THEMES, ids=lambda theme: str(theme.name))
@pytest.mark.parametrize("reader", SEEN_BY)
def test_colour_blind_readers_tell_origins_apart(theme: Theme, reader: str) -> None:
    """By colour alone, from each other and from the text: several times what is just noticed (a distance of 2.3)."""
    palette = palette_for(Color.parse(str(theme.background)), dark=theme.dark)
    seen = []
    for origin in Origin:
        own = (MarkMode.ORIGIN, origin) in COLOURLESS
        text = Color.parse(str(theme.foreground))
        seen.append(text if own else Color(*marked(palette, MarkMode.ORIGIN, origin).get_truecolor()))
    for one, other in combinations(seen, 2):
        assert dist(lab(one, reader), lab(other, reader)) >= 15, (one, other)


def cue(style: Style) -> tuple[bool, bool, bool, bool]:
    return bool(style.bold), bool(style.underline), bool(style.reverse), bool(style.italic)
