"""The settings screen: every setting, changed in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from localspec.base.errors import LocalSpecError
from localspec.base.visible import visible_line
from localspec.chat.commands import places
from localspec.chat.settings.browser import HEADING, QUIET, STRONG, TEXT, WARNING, SettingRow, SettingsBrowser
from localspec.config import Config, Setting, Value
from localspec.config.kinds import RefusedValue
from localspec.runtime.chat_config import Layer
from localspec.tui.keys.bindings import bindings_of, key_of
from localspec.tui.keys.handling import handles
from localspec.tui.screens.layouts import ColumnScreen
from localspec.tui.widgets.field import Field, ValueField
from localspec.tui.widgets.key_row import KeyHints, KeyRow
from localspec.tui.widgets.row_list import RowList

_LOOKS = {QUIET: "$quiet", TEXT: "", STRONG: "bold", WARNING: "$warning"}
_LEAST_CELLS = 30
"""Of a row."""
_FILTER_HINT = "Type to filter: a name, a word, set"


class SettingsScreen(ColumnScreen[None]):
    """Every change is checked, applied and written at once."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(places.IN_SETTINGS.commands)
    DEFAULT_CSS = """
    SettingsScreen #settings-filter-row { margin: 0 0 1 0; }
    SettingsScreen #settings-field-row { display: none; }
    SettingsScreen RowList { margin: 0 1; }
    SettingsScreen #settings-details { height: 6; margin: 0 1; padding: 0 1; border-top: solid $panel; }
    SettingsScreen #settings-message { min-height: 1; max-height: 3; padding: 0 2; color: $accent; }
    SettingsScreen #settings-message.-refused { color: $error; }
    SettingsScreen.-short #settings-filter-row { margin: 0; }
    SettingsScreen.-short #settings-details { height: 4; }
    SettingsScreen.-changing #settings-field-row { display: block; }
    SettingsScreen.-short.-changing #settings-filter-row { display: none; }
    """

    def __init__(self, browser: SettingsBrowser, apply: Callable[[Config], None], load: Callable[[], str]) -> None:
        """``apply`` puts changed settings into force; ``load`` loads the pair again and says so."""
        super().__init__()
        self._browser = browser
        self._apply = apply
        self._load = load
        self._filter = Field(browser.text, placeholder=_FILTER_HINT, select_on_focus=False, id="settings-filter")
        self._field = ValueField(id="settings-field")
        self._field_name = Static("")
        self._list: RowList[SettingRow] = RowList(_drawn, lambda row: row.kind == HEADING)
        self._title = Static("", id="settings-title", classes="title")
        self._count = Static("", id="settings-count", classes="count")
        self._details = Static("", id="settings-details")
        self._message = Static("", id="settings-message")
        self._keys = KeyRow(id="settings-keys")

    def compose(self) -> ComposeResult:
        with Horizontal(classes="head"):
            yield self._title
            yield self._count
        with Horizontal(id="settings-filter-row", classes="field-row"):
            yield Static("› ")
            yield self._filter
        yield self._list
        yield self._details
        with Horizontal(id="settings-field-row", classes="field-row"):
            yield self._field_name
            yield self._field
        yield self._message
        yield self._keys

    def on_mount(self) -> None:
        self._filter.focus()
        self.read_again(quiet=True)

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input is self._filter:
            self._browser.text = event.value
            self._draw()
        elif self._changing is not None:
            self._check(self._changing, event.value)

    def on_row_list_marked(self, event: RowList.Marked) -> None:
        self._browser.mark(event.row_id)
        self._draw()

    # Commands

    @handles(places.SETTING_CHANGE)
    def change(self) -> None:
        setting = self._browser.marked
        if setting is None:
            return
        if self._changing is not None:
            if (value := self._check(setting, self._field.value)) is not None:
                self._close_field()
                self._set(setting, value)
        elif (refusal := self._browser.refusal(setting)) is not None:
            self._say(str(refusal), refused=True)
        elif self._browser.steps(setting):
            self.step(1)
        else:
            self._open_field(setting)

    @handles(places.SETTING_BACK_STEP, -1)
    @handles(places.SETTING_STEP, 1)
    def step(self, step: int) -> None:
        setting = self._browser.marked
        if setting is not None and self._changing is None and self._browser.steps(setting):
            self._set(setting, self._browser.stepped(setting, step))

    @handles(places.SETTING_RESET)
    def reset(self) -> None:
        if (setting := self._browser.marked) is not None:
            self._close_field()
            self._set(setting, None)

    @handles(places.SETTING_SCOPE)
    def change_scope(self) -> None:
        self._close_field()
        self._say(self._browser.turn_scope())
        self._draw()

    @handles(places.SETTING_LOAD)
    def load(self) -> None:
        self._say(self._load())

    @handles(places.SETTING_REREAD)
    def read_again(self, quiet: bool = False) -> None:
        changed = self._browser.reread()
        try:
            if changed:
                self._apply(self._browser.config)
        except LocalSpecError as error:
            self._say(str(error), refused=True)
        else:
            if changed or not quiet:
                self._say("The file has changed and was read again." if changed else "The file has not changed.")
        self._draw()

    @handles(places.SETTING_UP, -1)
    @handles(places.SETTING_DOWN, 1)
    def move(self, step: int) -> None:
        if self._changing is None:
            self._list.move(step)

    @handles(places.SETTING_PAGE_UP, -1)
    @handles(places.SETTING_PAGE_DOWN, 1)
    def page(self, direction: int) -> None:
        self.move(direction * max(1, self._list.size.height - 1))

    @handles(places.SETTING_LEAVE)
    def leave(self) -> None:
        if self._changing is not None:
            self._close_field()
            self._say("")
        elif self._filter.value:
            self._filter.value = ""
        else:
            self.dismiss(None)

    # What is being changed

    @property
    def _changing(self) -> Setting | None:
        return self._browser.marked if self.has_class("-changing") else None

    def _open_field(self, setting: Setting) -> None:
        self.add_class("-changing")
        self._field_name.update(Content(f"{setting.title}  "))
        self._field.placeholder = setting.kind.form
        self._field.value = self._browser.editable(setting)
        self._field.cursor_position = len(self._field.value)
        self._field.focus()
        self._say("")
        self._draw()

    def _close_field(self) -> None:
        self.remove_class("-changing")
        self._filter.focus()
        self._draw()

    def _check(self, setting: Setting, text: str) -> Value | None:
        """The value that the field means; None, and the reason on screen, if it means none."""
        try:
            value = setting.kind.read(text)
        except RefusedValue as refusal:
            self._say(f"{setting.title}: {refusal}." if text else "", refused=True)
            return None
        self._say("")
        return value

    def _set(self, setting: Setting, value: Value | None) -> None:
        try:
            config = self._browser.set(setting, value)
            self._apply(config)
        except LocalSpecError as error:
            self._say(str(error), refused=True)
        else:
            self._say(self._browser.describe_change(setting, key_of(self, places.SETTING_LOAD)))
        self._draw()

    # What is shown

    def _say(self, text: str, *, refused: bool = False) -> None:
        self._message.set_class(refused, "-refused")
        self._message.update(Content(text))

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        self._title.update(Content.assemble("Settings", (f" for {self._browser.scope_title}", "not bold")))
        self._count.update(Content(f"{self._browser.config.path.name}: {self._browser.heading}"))
        self._list.fill(self._browser.rows(max(_LEAST_CELLS, self._list.size.width - 4)), self._browser.marked_id)
        self._details.update(
            Content("\n").join(Content.styled(text, _LOOKS[look]) for text, look in self._browser.details())
            or Content.styled(self._browser.empty, "$quiet")
        )
        self._keys.show(self._hints())

    def _hints(self) -> KeyHints:
        setting = self._browser.marked
        if self._changing is not None:
            return {places.SETTING_CHANGE: "write it", places.SETTING_LEAVE: "leave it"}
        hints: KeyHints = {}
        if setting is not None:
            if self._browser.refusal(setting) is None:
                hints[places.SETTING_CHANGE] = "next value" if self._browser.steps(setting) else "change"
            if self._browser.is_set(setting):
                hints[places.SETTING_RESET] = "reset"
            if self._browser.needs_load(setting):
                hints[places.SETTING_LOAD] = "load again"
        coming = self._browser.next_scope
        hints[places.SETTING_SCOPE] = "for all" if coming is Layer.ALL else f"for {coming}"
        leave = "clear filter" if self._filter.value else places.SETTING_LEAVE.title
        return {**hints, places.SETTING_REREAD: "read file", places.SETTING_LEAVE: leave}


def _drawn(row: SettingRow) -> Content:
    return Content.assemble(*((visible_line(text), _LOOKS[look]) for text, look in row.parts))
