"""The recording: its scenes do what can be done, and the film shows what was filmed."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from rich.segment import Segment
from rich.style import Style

from localspec.chat.commands.command import key_label
from tests.film import LINE_HEIGHT, Film, Frame, Line, line_of, thinned
from tests.recording import COLUMNS, RECORDING, SCENES, Scene, keys

_SVG = "{http://www.w3.org/2000/svg}"
_MOST_BYTES = 1_000_000


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.does or "opening")
def test_scenes_press_keys_that_are_bound(scene: Scene) -> None:
    """By the ids of bindings, so a key may change and the script still holds; what is said of it fits the frame."""
    assert not scene.does or keys()[scene.does]
    assert scene.does or not scene.types
    assert len(scene.says) + len(key_label(keys().get(scene.does, ""))) + 3 <= COLUMNS


def test_one_scene_is_the_still() -> None:
    """The one that is seen where nothing moves."""
    assert [scene.still for scene in SCENES].count(True) == 1


def line(text: str, style: str = "") -> Line:
    return line_of([Segment(text, Style.parse(style))], "#ffffff", "#000000")


FRAMES = [
    Frame(0.0, (line("one"), line("  two", "bold on #112233"), line("same")), "begin"),
    Frame(1.0, (line("one"), line("漢字", "underline"), line("same")), "F2  look"),
    Frame(2.5, (line("<three> & more"), line("  two", "bold on #112233"), line("same")), "F2  look"),
]


def film(frames: list[Frame]) -> Film:
    return Film(frames, 20, length_s=4, still_s=1.5, title="A film", background="#000000")


def seen(svg: str) -> list[str]:
    """The text of each line, where the strips stand."""
    lines = []
    for strip in ElementTree.fromstring(svg).iterfind(f"{_SVG}svg/{_SVG}svg"):
        (group,) = strip
        top = -float(re.findall(r"-?[\d.]+", group.attrib["transform"])[1])
        texts = [each for each in group if top <= float(each.attrib["y"]) < top + LINE_HEIGHT]
        lines.append(" ".join((each.text or "").replace("\xa0", " ").strip() for each in texts).strip())
    return lines


@pytest.mark.parametrize(
    ("at_s", "lines"),
    [
        (0.0, ["one", "two", "same", "begin"]),
        (1.0, ["one", "漢字", "same", "F2 look"]),
        (2.4, ["one", "漢字", "same", "F2 look"]),
        (3.9, ["<three> & more", "two", "same", "F2 look"]),
    ],
)
def test_the_film_shows_each_moment(at_s: float, lines: list[str]) -> None:
    """Every line stands where that moment's content is."""
    assert seen(film(FRAMES).svg(at_s)) == lines


def test_the_moving_film_stands_still_at_its_still() -> None:
    """For readers that know no animation; and lines that never change have none."""
    svg = film(FRAMES).svg()
    assert seen(svg) == seen(film(FRAMES).svg(1.5))
    assert set(re.findall(r"@keyframes (\w+)", svg)) == {"k0", "k1", "k3"}
    assert "25%{transform:translateY(" in svg
    assert "62.500%{transform:translateY(" in svg


def test_looks_survive() -> None:
    """Bold, lines, reversed and dim cells; spaces under a line are drawn, others not."""
    (span,) = line(" a ", "bold underline #ff0000 on #00ff00")
    assert (span.colour, span.background) == ("#ff0000", "#00ff00")
    assert (span.look, span.text) == ("font-weight:bold;text-decoration:underline;", " a ")
    assert line("a", "reverse #ff0000")[0].background == "#ff0000"
    assert line("a", "dim #ffffff on #000000")[0].colour == "#7f7f7f"


def test_a_frame_like_the_one_before_is_left_out() -> None:
    """However much later it was taken."""
    again = Frame(9.0, FRAMES[-1].lines, FRAMES[-1].caption)
    assert thinned([*FRAMES, again]) == FRAMES


def test_the_recording_in_the_readme_is_small_and_needs_nothing_else() -> None:
    """No script, no font, no picture from elsewhere."""
    svg = RECORDING.read_text(encoding="utf-8")
    assert len(svg.encode()) < _MOST_BYTES
    assert {each.tag for each in ElementTree.fromstring(svg).iter()} <= {
        f"{_SVG}{tag}" for tag in ("svg", "g", "text", "rect", "circle", "title", "style")
    }
    assert "url(" not in svg
    assert "@import" not in svg
