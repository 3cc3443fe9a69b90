"""Characters without a width that keyboards type: in the prompt and in fields."""

from __future__ import annotations

import pytest
from textual._xterm_parser import XTermParser
from textual.app import App, ComposeResult

from localspec.tui.prompt.area import BoundArea
from localspec.tui.textual_fixes.typed_joiners import take_joiners
from localspec.tui.widgets.field import Field

take_joiners()


class Typing(App[None]):
    """A text area and a field."""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {"quiet": "gray"}

    def compose(self) -> ComposeResult:
        yield BoundArea()
        yield Field()


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",
        "क्\u200dष",
        "👨\u200d👩\u200d👧",
        "🏴" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng") + "\U000e007f",
    ],
)
async def test_joiners_are_typed_as_text(text: str) -> None:
    """As the terminal sends them, a character a key."""
    app = Typing()
    async with app.run_test() as pilot:
        for widget in (app.query_one(BoundArea), app.query_one(Field)):
            widget.focus()
            for message in XTermParser().feed(text):
                app.post_message(message)
            await pilot.pause()
        assert (app.query_one(BoundArea).text, app.query_one(Field).value) == (text, text)


async def test_other_invisible_keys_type_nothing() -> None:
    """Not what turns the direction of text, and no control character."""
    app = Typing()
    async with app.run_test() as pilot:
        for message in XTermParser().feed("a\u202e\x00b"):
            app.post_message(message)
        await pilot.pause()
        assert app.query_one(BoundArea).text == "ab"
