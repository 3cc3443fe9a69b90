"""Text of strangers on the screen: nothing reaches the terminal but the styles of the app."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.content import Content
from textual.strip import Strip
from textual.style import Style as Look
from textual.widget import Widget

from localspec.base.visible import visible
from localspec.tui.textual_fixes.visible_text import make_text_visible

CONSOLE = Console(color_system="truecolor")
make_text_visible()

STYLES = (None, Style(bold=True, color="#ff0000"), Style(link="https://a.org/x"))
OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;id=[0-9-]*;https://a\.org/x\x1b\\|\x1b\]8;;\x1b\\")
SEGMENTS = st.lists(st.builds(Segment, st.text(), st.sampled_from(STYLES)))


@given(st.lists(st.tuples(st.text(), st.sampled_from([Look(), Look(bold=True)])), min_size=1))
@example([("a\x0cb", Look(bold=True)), ("c", Look(bold=True))])
def test_the_places_of_styles_fit_their_text(parts: list[tuple[str, Look]]) -> None:
    """Textual drops control characters after it has reckoned the places, and fails where it draws them."""
    made = Content.assemble(*parts)
    assert made.plain == "".join(visible(text) for text, _ in parts)
    for line in made.split("\n"):
        assert "".join(text for text, _ in line.render(end="")) == line.plain


@given(SEGMENTS)
def test_a_row_is_text_and_our_styles(segments: list[Segment]) -> None:
    """No control character of any kind is left once those are taken away, and the row is as wide as before."""
    strip = Strip(segments)
    left = OURS.sub("", strip.render(CONSOLE))
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", left)


def test_harmless_rows_are_written_as_ever() -> None:
    """Also those whose characters are wide, joined, or without a letter."""
    strip = Strip([Segment("one 東京 👩‍👩‍👧 │ é", style) for style in STYLES])
    assert OURS.sub("", strip.render(CONSOLE)) == "one 東京 👩‍👩‍👧 │ é" * 3


class Bypassing(Widget):
    """Draws by itself what it was told, as a widget might that knows nothing of all this."""

    def render_line(self, y: int) -> Strip:
        return Strip([Segment("one\x1b]52;c;AA\x07\x9b\u202e")], self.size.width)


class BypassingApp(App[None]):
    """Has a screen of Textual's own."""

    def compose(self) -> ComposeResult:
        yield Bypassing()


async def test_no_widget_goes_round_the_net() -> None:
    """Whatever screen it is on, and whether all of the screen is drawn or a part of it."""
    async with BypassingApp().run_test(size=(20, 3)) as pilot:
        drawn = pilot.app.screen._compositor
        drawn.update_widgets({pilot.app.query_one(Bypassing)})
        for update in (drawn.render_partial_update(), drawn.render_full_update()):
            assert update is not None
            assert "one\u241b]52;c;AA\u2407\ufffd\ufffd" in update.render_segments(CONSOLE)


def test_a_row_stays_as_wide_as_it_is() -> None:
    """A sign takes a cell where the control character took none: what no longer fits is cut."""
    strip = Strip([Segment("\x1b[31mred", STYLES[1]), Segment(" and\n")], 10)
    assert OURS.sub("", strip.render(CONSOLE)) == "␛[31mred a"


def test_the_address_of_a_link_cannot_end_it() -> None:
    """An address with control characters in it is none."""
    assert Strip([Segment("here", Style(link="https://a.org\x1b\\\x1b]52;c;AA\a"))]).render(CONSOLE) == "here"
