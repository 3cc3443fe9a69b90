"""A form: a few texts to write, one below the other, each with its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from localspec.base.errors import LocalSpecError
from localspec.base.visible import visible, visible_line
from localspec.chat.commands import places
from localspec.chat.compose.cleaning import cleaned
from localspec.tui.keys.bindings import bindings_of
from localspec.tui.keys.handling import handles
from localspec.tui.prompt.area import BoundArea
from localspec.tui.prompt.editor import edit_in
from localspec.tui.screens.layouts import DialogBox, DialogScreen
from localspec.tui.widgets.key_row import KeyRow, titled

_ABOUT_ROWS_N = 5
"""The most rows of the text above the fields."""
_LONGEST_ABOUT = 1_000
"""Characters of it, more than such rows hold."""


class FormArea(BoundArea):
    """The text of one field, below its name."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(places.IN_FORM.commands)

    def __init__(self, called: str, text: str) -> None:
        super().__init__(text)
        self.above = Static(visible_line(called), classes="form-name", markup=False)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.type_in(cleaned(event.text)[0])


class AboutForm(Static):
    """The text above the fields: the rows that leave room for those; the last ends in "…" if there is more."""

    DEFAULT_CSS = "AboutForm { height: auto; margin: 0 0 1 0; color: $quiet; }"

    def __init__(self, text: str) -> None:
        super().__init__("", id="form-about")
        self._text = Content(visible(text.strip()[:_LONGEST_ABOUT]))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._rows(width, viewport.height))

    def render(self) -> Content:
        return Content("\n").join(self._rows(self.size.width, self.screen.size.height))

    def _rows(self, width: int, height: int) -> list[Content]:
        """The rows for this width, in a screen of that height."""
        rows = self._text.wrap(width)
        # The fields take up to 55 % of a low screen; 4 rows are for the title, the keys and a refusal.
        most = max(1, min(_ABOUT_ROWS_N, height * 9 // 20 - 4))
        if len(rows) > most:
            rows = [*rows[: most - 1], rows[most - 1].truncate(max(0, width - 2)) + " …"]
        return rows


class FormScreen(DialogScreen[None]):
    """Closes once the texts have been taken; if they are refused, says why and stays."""

    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    FormScreen > Vertical { max-height: 100%; }
    FormScreen .dialog-title { height: 1; margin: 0; text-wrap: nowrap; text-overflow: ellipsis; }
    FormScreen #form-fields { height: auto; max-height: 45vh; scrollbar-size-vertical: 1; }
    FormScreen .form-name { height: 1; color: $quiet; text-wrap: nowrap; text-overflow: ellipsis; }
    FormScreen FormArea {
        height: auto; min-height: 1; max-height: 8; padding: 0 1; margin: 0 0 1 0;
        background: $panel; color: $foreground; scrollbar-size-vertical: 1;
    }
    FormScreen FormArea.-alone { min-height: 5; max-height: 16; }
    FormScreen FormArea .text-area--placeholder { color: $quiet; }
    FormScreen #form-refused { color: $error; max-height: 2; display: none; }
    FormScreen KeyRow { margin: 0; }
    FormScreen.-short AboutForm { margin: 0; }
    FormScreen.-short #form-fields { max-height: 55vh; }
    """

    def __init__(
        self, title: str, about: str, fields: Mapping[str, str], then: Callable[[Mapping[str, str]], None]
    ) -> None:
        """``about`` stands above the fields, which begin with the texts given; ``then`` may raise LocalSpecError."""
        super().__init__()
        self._title = title
        self._about = AboutForm(about)
        self._areas = {name: FormArea(name, text) for name, text in fields.items()}
        self._then = then
        self._refused = Static("", id="form-refused", markup=False)
        self._keys = KeyRow(id="form-keys")

    def compose(self) -> ComposeResult:
        with DialogBox():
            yield Static(visible_line(self._title), classes="dialog-title", markup=False)
            yield self._about
            with VerticalScroll(id="form-fields", can_focus=False):
                for area in self._areas.values():
                    yield area.above
                    yield area
            yield self._refused
            yield self._keys

    def on_mount(self) -> None:
        areas = list(self._areas.values())
        areas[0].set_class(len(areas) == 1, "-alone")
        for area in areas:
            area.move_cursor(area.document.end)
        self._go_to(next((area for area in areas if not area.text), areas[0]))

    def on_resize(self) -> None:
        alone = len(self._areas) == 1
        shown = [each for each in places.IN_FORM.commands if each.hinted and not (alone and each is places.FORM_NEXT)]
        self._keys.show(titled(*shown))

    @handles(places.FORM_KEEP)
    def keep(self) -> None:
        """Go to the next empty field; from the last on, take the texts."""
        areas = list(self._areas.values())
        at = next((n for n, area in enumerate(areas) if area is self.focused), len(areas))
        if empty := next((area for area in areas[at + 1 :] if not area.text.strip()), None):
            self._go_to(empty)
            return
        try:
            self._then({name: area.text.strip() for name, area in self._areas.items()})
        except LocalSpecError as error:
            self._refuse(str(error))
        else:
            self.dismiss()

    @handles(places.FORM_NEXT, 1)
    @handles(places.FORM_PREVIOUS, -1)
    def step(self, step: int) -> None:
        """Go to the next field or the one before, from the last to the first."""
        areas = list(self._areas.values())
        at = next((n for n, area in enumerate(areas) if area is self.focused), 0)
        self._go_to(areas[(at + step) % len(areas)])

    @handles(places.FORM_NEWLINE)
    def insert_newline(self) -> None:
        if isinstance(self.focused, FormArea):
            self.focused.type_in("\n")

    @handles(places.FORM_EDITOR)
    def edit_outside(self) -> None:
        area = self.focused
        if not isinstance(area, FormArea):
            return
        try:
            area.text = visible(cleaned(edit_in(self.app.suspend, area.text, os.environ))[0].removesuffix("\n"))
        except LocalSpecError as error:
            self._refuse(str(error))

    @handles(places.FORM_LEAVE)
    def leave(self) -> None:
        self.dismiss()

    def _go_to(self, area: FormArea) -> None:
        self.set_focus(area, scroll_visible=False)  # at once: a letter may be on its way
        self.call_after_refresh(area.above.scroll_visible, top=True, animate=False)

    def _refuse(self, why: str) -> None:
        self._refused.update(Content(visible_line(why)))
        self._refused.display = True
