"""Themes: everything that is said can be read, in as many colours as the terminal has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from textual.color import Color
from textual.screen import Screen
from textual.theme import BUILTIN_THEMES, Theme
from textual.widgets import OptionList

from localspec.base.errors import InputError
from localspec.base.paths import user_paths
from localspec.chat.commands.places import known
from localspec.chat.markdown import Link
from localspec.chat.pair_slot import Phase
from localspec.config import read_config, setting
from localspec.config.kinds import Choice
from localspec.tui.app import ChatApp
from localspec.tui.screens.links import LinksScreen
from localspec.tui.theme import (
    DARK,
    HIGH_CONTRAST,
    LIGHT,
    OWN_THEMES,
    TERMINAL_DARK,
    TERMINAL_LIGHT,
    made_theme,
    read_theme,
    theme_for,
)
from localspec.tui.tokens.palette import MIN_CONTRAST, contrast, palette_for
from tests.tui.pairs_support import shelf_of
from tests.tui.settings_support import chat_config
from tests.tui.stats_support import full_store
from tests.tui.support import FakeEngine, make_app, notice_text, send, transcript_of, wait_until

TEXTS = ("foreground", "quiet", "accent", "error", "warning", "success")
BACKGROUNDS = ("background", "surface")


def colour(theme: Theme, name: str) -> Color:
    return Color.parse(str(theme.variables.get(name) or getattr(theme, name)))


def in_256(colour: Color) -> Color:
    """What a terminal of 256 colours makes of it."""
    nearest = RichColor.from_rgb(*colour.rgb).downgrade(ColorSystem.EIGHT_BIT)
    return Color(*nearest.get_truecolor())


@pytest.mark.parametrize("theme", OWN_THEMES, ids=lambda theme: str(theme.name))
@pytest.mark.parametrize("name", TEXTS)
def test_every_text_can_be_read(theme: Theme, name: str) -> None:
    """On both backgrounds, with 16 million colours and with 256."""
    for background in BACKGROUNDS:
        text, ground = colour(theme, name), colour(theme, background)
        assert contrast(text, ground) >= MIN_CONTRAST, f"{contrast(text, ground):.2f} on {background}"
        few = contrast(in_256(text), in_256(ground))
        assert few >= MIN_CONTRAST, f"{few:.2f} on {background} of 256"


@pytest.mark.parametrize("theme", OWN_THEMES, ids=lambda theme: str(theme.name))
def test_a_highlighted_row_can_be_read(theme: Theme) -> None:
    """It lies on the panel's colour."""
    for name in TEXTS:
        assert contrast(colour(theme, name), colour(theme, "panel")) >= MIN_CONTRAST, name


def test_high_contrast_is_higher() -> None:
    """WCAG's stricter threshold, for all it says; twice that for the text."""
    for name in TEXTS:
        assert contrast(colour(HIGH_CONTRAST, name), colour(HIGH_CONTRAST, "background")) >= 7
    assert contrast(colour(HIGH_CONTRAST, "foreground"), colour(HIGH_CONTRAST, "background")) == pytest.approx(21)


@pytest.mark.parametrize("choice", setting("theme").kind.words)  # type: ignore[attr-defined]
@pytest.mark.parametrize("environ", [{}, {"COLORFGBG": "0;15"}, {"COLORFGBG": "15;0"}, {"COLORFGBG": "nonsense"}])
@pytest.mark.parametrize("colours", [None, "standard", "256", "truecolor"])
def test_every_choice_is_a_theme(choice: str, environ: dict[str, str], colours: str | None) -> None:
    """Whatever the terminal says or does not say."""
    assert theme_for(choice, environ, colours) in {theme.name for theme in OWN_THEMES} | set(BUILTIN_THEMES)


TEXTUAL = sorted(set(BUILTIN_THEMES) - {TERMINAL_DARK, TERMINAL_LIGHT})


def test_textuals_themes_can_be_chosen() -> None:
    kind = setting("theme").kind
    assert isinstance(kind, Choice)
    assert set(TEXTUAL) <= set(kind.words)


@pytest.mark.parametrize("name", TEXTUAL)
def test_textuals_themes_can_be_read(name: str, tmp_path: Path) -> None:
    """All they say, on all their grounds; tokens too, which go by the background."""
    theme = made_theme(name, tmp_path)
    assert theme is not None
    assert theme.dark == BUILTIN_THEMES[name].dark
    assert_readable(theme)


def assert_readable(theme: Theme) -> None:
    generated = theme.to_color_system().generate()
    palette = palette_for(Color.parse(generated["background"]), dark=theme.dark)
    marks = [style.color for styles in palette.marks.values() for style in styles.values() if style.color]
    tokens = [Color(*mark.get_truecolor()) for mark in marks]
    for ground in ("background", "surface", "panel"):
        for text in TEXTS:
            shown = Color.parse(theme.variables["quiet"] if text == "quiet" else generated[text])
            assert contrast(shown, Color.parse(generated[ground])) >= MIN_CONTRAST - 0.05, f"{text} on {ground}"
    assert all(contrast(token, Color.parse(generated["background"])) >= MIN_CONTRAST for token in tokens)


@pytest.mark.parametrize(
    "colours", [("#10161a", "#d8e0da", "#7fc9a0"), ("#ffffff", "#202020", "#005599"), ("#777777", "#ffffff", "#ffffff")]
)
def test_a_theme_of_three_colours_is_whole(colours: tuple[str, str, str], tmp_path: Path) -> None:
    """The rest follows from them; a middling grey leaves too little room, and is refused."""
    path = tmp_path / "own.toml"
    named = zip(("background", "foreground", "accent"), colours, strict=True)
    path.write_text("".join(f'{name} = "{value}"\n' for name, value in named))
    if colours[0] == "#777777":
        with pytest.raises(InputError, match="a contrast of"):
            read_theme(path)
        return
    theme = read_theme(path)
    assert (theme.name, theme.dark) == ("own", colours[0] == "#10161a")
    assert_readable(theme)


PLAIN = 'background = "#000000"\nforeground = "#ffffff"\naccent = "#00ff00"\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no toml", "is not TOML"),
        ("\udcff", "is not TOML"),
        ('background = "#000000"', "lacks foreground and accent"),
        (f'{PLAIN}colour = "#ffffff"', "'colour', which is no colour of a theme"),
        (f'{PLAIN}quiet = "red"', 'has no colour for quiet. Write it as "#rrggbb"'),
        (f"{PLAIN}quiet = [1]", "has no colour for quiet"),
        (
            f'{PLAIN}error = "#330000"',
            'error #330000 on background #000000, a contrast of 1.1, and text needs 4.5. error = "#',
        ),
        ("x" * 20_000, "cannot be read"),
        (f"quiet = {'[' * 4000}", "is not TOML"),
    ],
)
def test_a_file_that_is_no_theme_is_a_sentence(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as refused:
        read_theme(path)
    assert why in str(refused.value)


async def test_a_theme_of_ones_own_is_chosen_and_survives_its_file() -> None:
    """Without its file the usual one is shown, and said why; a file that is none is not chosen."""
    folder = user_paths().config / "themes"
    folder.mkdir(parents=True)
    (folder / "own.toml").write_text(PLAIN)
    (folder / "bad.toml").write_text("bad")
    app = make_app(FakeEngine(), chat_config(""))
    async with app.run_test() as pilot:
        await send(pilot, "/theme own")
        await wait_until(pilot, lambda: app.theme == "own")
        assert app.theme_variables["background"] == "#000000"
        assert {"own", "bad"} <= set(app.theme_choices)
        await send(pilot, "/theme bad")
        await wait_until(pilot, lambda: "is not TOML" in notice_text(pilot))
        assert read_config().values["screen.theme"] == "own"
        await send(pilot, f"/theme {'a' * 300}")
        await wait_until(pilot, lambda: "it should be one of" in notice_text(pilot))
    (folder / "own.toml").write_text("bad")
    again = make_app(FakeEngine(), chat_config('[screen]\ntheme = "own"\n'))
    async with again.run_test() as pilot:
        await wait_until(pilot, lambda: "is not TOML" in notice_text(pilot))
        assert again.theme == DARK.name


def test_auto_follows_the_terminal() -> None:
    """Its background as far as it tells, and its colours where it has only sixteen."""
    light = {"COLORFGBG": "0;15"}
    assert theme_for("auto", {}, "truecolor") == DARK.name
    assert theme_for("auto", light, "256") == LIGHT.name
    assert theme_for("auto", {}, "standard") == TERMINAL_DARK
    assert theme_for("auto", light, "standard") == TERMINAL_LIGHT
    assert theme_for("terminal", light, "truecolor") == TERMINAL_LIGHT


def test_a_chosen_theme_is_taken_at_its_word() -> None:
    """Also where the terminal looks otherwise; where it has only sixteen colours, as to whether it is dark or light."""
    light = {"COLORFGBG": "0;15"}
    assert theme_for("dark", light, "256") == DARK.name
    assert theme_for("high-contrast", light, "truecolor") == HIGH_CONTRAST.name
    assert theme_for("light", {}, "256") == LIGHT.name
    assert theme_for("dark", light, "standard") == TERMINAL_DARK
    assert theme_for("high-contrast", light, "standard") == TERMINAL_DARK
    assert theme_for("light", {}, "standard") == TERMINAL_LIGHT


SIXTEEN = {
    "VGA": (
        *((0, 0, 0), (170, 0, 0), (0, 170, 0), (170, 85, 0), (0, 0, 170), (170, 0, 170), (0, 170, 170)),
        *((170, 170, 170), (85, 85, 85), (255, 85, 85), (85, 255, 85), (255, 255, 85), (85, 85, 255)),
        *((255, 85, 255), (85, 255, 255), (255, 255, 255)),
    ),
    "xterm": (
        *((0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205)),
        *((229, 229, 229), (127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255)),
        *((255, 0, 255), (0, 255, 255), (255, 255, 255)),
    ),
}
"""What two kinds of terminal make of their colours, as red, green and blue."""


def as_seen(colour: RichColor | None, sixteen: Sequence[tuple[int, int, int]], default: Color) -> Color:
    if colour is None or colour.is_default:
        return default
    return Color(*(sixteen[colour.number] if colour.number is not None else colour.get_truecolor()))


def bars(screen: Screen[Any]) -> list[tuple[str, RichColor | None, RichColor | None]]:
    """Each piece of text on a highlighted row, with its colours."""
    found = []
    for options in screen.query(OptionList):
        rows = [y for y, (index, _) in enumerate(options._lines) if index == options.highlighted]
        strips = [options.render_line(y - int(options.scroll_offset.y)) for y in rows]
        pieces = [segment for strip in strips for segment in strip if segment.style and segment.text.strip()]
        found += [(piece.text, piece.style.color, piece.style.bgcolor) for piece in pieces if piece.style]
    return found


THEMES = (*(str(theme.name) for theme in OWN_THEMES), TERMINAL_DARK, TERMINAL_LIGHT)


@pytest.mark.parametrize("place", ["conversations", "pairs", "stats", "settings", "search", "links"])
async def test_every_piece_of_a_highlighted_row_can_be_read(place: str, tmp_path: Path) -> None:
    """As drawn, in every list; in the terminal's own colours as well, with what they are by default."""
    engine, store = FakeEngine(), full_store(tmp_path / "history.db")
    app = ChatApp(chat_config(""), engine, engine.inbox, shelf_of(), count().__next__, store)
    async with app.run_test(size=(100, 40)) as pilot:
        engine.load()
        await wait_until(pilot, lambda: app.session.phase is Phase.IDLE)
        for theme in THEMES:
            app.theme = theme
            if place == "links":
                app.push_screen(LinksScreen([Link("a page", "https://a.org")]))
            else:
                await app._chat.run_command(known()[place])
            await pilot.pause()
            if place == "search":
                word = store.conversations()[0].heading.title.split()[0]
                await pilot.press(*word)
            await wait_until(pilot, lambda: bars(app.screen))
            pieces = bars(app.screen)
            await pilot.press("escape")
            await wait_until(pilot, lambda: not bars(app.screen))
            dark = theme != TERMINAL_LIGHT
            for sixteen in SIXTEEN.values():
                for text, front, back in pieces:
                    seen = as_seen(front, sixteen, Color(*sixteen[7 if dark else 0]))
                    ground = as_seen(back, sixteen, Color(*sixteen[0 if dark else 15]))
                    assert contrast(seen, ground) >= MIN_CONTRAST, f"{theme}, {text!r}: {contrast(seen, ground):.2f}"
    store.close()


@pytest.mark.parametrize("theme", [DARK.name, LIGHT.name, HIGH_CONTRAST.name, TERMINAL_DARK, TERMINAL_LIGHT])
async def test_scroll_bars_can_be_seen(theme: str) -> None:
    """In the terminal's own sixteen colours, too, where a panel has none."""
    app = make_app(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        app.theme = theme
        await pilot.pause()
        styles = transcript_of(pilot).styles
        for part in (styles.scrollbar_color, styles.scrollbar_color_hover, styles.scrollbar_color_active):
            assert part.a
            assert part != styles.scrollbar_background
