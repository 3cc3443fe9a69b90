"""The list of conversations: filter, open, rename, and change those that are chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from localspec.base.visible import visible_line
from localspec.chat.commands import places
from localspec.chat.commands.command import Command
from localspec.chat.commands.conversations import SEARCH
from localspec.chat.history import FolderRow, History, HistoryRow, age
from localspec.store.filing import Filing
from localspec.tui.keys.bindings import bindings_of, key_of
from localspec.tui.keys.handling import CommandTarget, handles
from localspec.tui.widgets.field import Field
from localspec.tui.widgets.key_row import KeyRow, titled
from localspec.tui.widgets.row_list import QuietList

_FILTER = "Filter: a title, tag:x, folder:y"


def utc_now() -> datetime:
    """The present, for the ages of conversations."""
    return datetime.now(UTC)


class ConversationList(QuietList, can_focus=False):
    """The list."""

    DEFAULT_CSS = """
    ConversationList {
        background: $surface; scrollbar-gutter: auto; scrollbar-background: $surface;
        scrollbar-background-hover: $surface; scrollbar-background-active: $surface;
    }
    ConversationList > .option-list--option-hover { background: $panel; }
    """


class Sidebar(Vertical, CommandTarget):
    """Over the conversation where it is narrow, beside it where there is room."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(places.IN_HISTORY.commands)
    DEFAULT_CSS = """
    Sidebar { dock: left; width: 38; max-width: 90%; height: 100%; background: $surface; padding: 0 0 0 1; }
    Sidebar:ansi { border-right: solid $quiet; }
    Sidebar #sidebar-filter { height: 1; margin: 1 0; }
    Sidebar #sidebar-filter Static { width: 2; color: $accent; }
    Sidebar #sidebar-empty { height: 1fr; color: $quiet; display: none; padding: 0 1; }
    Sidebar #sidebar-said { max-height: 3; color: $quiet; padding: 0 1; }
    Sidebar #sidebar-keys { height: auto; max-height: 3; padding: 0 1; margin: 0 0 1 0; }
    Sidebar.-empty ConversationList { display: none; }
    Sidebar.-empty #sidebar-empty { display: block; }
    """

    class Chosen(Message):
        """The user chose this conversation."""

        def __init__(self, conversation: str) -> None:
            super().__init__()
            self.conversation = conversation

    class Deleted(Chosen):
        """The user deleted the conversation that is open."""

    class Closed(Message):
        """The user closed the list."""

    def __init__(self, history: History, current: str) -> None:
        """``current`` is the id of the conversation that is open."""
        super().__init__()
        self._history = history
        self._current = current
        self._title: str | None = None
        self._keep: Callable[[str], str] | None = None
        """Takes the title or the folder that is being written in the field; None while that is the filter."""
        self._filter = Field(placeholder=_FILTER)
        self._list = ConversationList(markup=False)
        self._empty = Static("", id="sidebar-empty")
        self._said = Static("", id="sidebar-said")
        self._keys = KeyRow(id="sidebar-keys")
        self._filling = False
        self._drawn: object = None
        """The rows, their width and the minute of their ages, as they were made last: thousands take a while."""
        self._spoken = ""
        """The sentence about the last change."""

    def compose(self) -> ComposeResult:
        with Horizontal(id="sidebar-filter"):
            yield Static("› ")
            yield self._filter
        yield self._list
        yield self._empty
        yield self._said
        yield self._keys

    def on_mount(self) -> None:
        self._beside = self.screen
        self._beside.add_class("-listing")
        self.screen.set_focus(self._filter)  # at once: a letter may be on its way
        self.screen.screen_layout_refresh_signal.subscribe(self, lambda screen: self._close_over_prompt())
        self._draw()

    def on_unmount(self) -> None:
        self._beside.remove_class("-listing")

    def on_resize(self) -> None:
        self._draw()

    def read_again(self) -> None:
        """Read the conversations again; text that is being written is left alone."""
        trouble = self._history.refresh()
        if self._keep is None:
            self._draw(trouble or self._spoken)

    def follow_title(self, title: str) -> None:
        """Read the conversations again if the title of the open one has changed since it was given last."""
        before, self._title = self._title, title
        if before not in (None, title):
            self.read_again()

    def on_descendant_blur(self) -> None:
        if self.screen.focused is None:
            self._filter.focus()
        else:
            self._close_over_prompt()

    def _close_over_prompt(self) -> None:
        """Close the list where it would lie over what is written on."""
        focused = self.screen.focused
        if focused is not None and self not in focused.ancestors and self.screen.has_class("-narrow"):
            self.post_message(self.Closed())

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._keep is None:
            self._history.filter(event.value)
            self._draw()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        if not self._filling and event.option_id is not None:
            self._history.mark(event.option_id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option_id is not None:
            self._history.mark(event.option_id)
            self.open()

    def on_click(self, event: events.Click) -> None:
        event.stop()

    # Commands

    async def run_command(self, command: Command, argument: str = "") -> None:
        """As usual; while a title or a folder is written, it can be kept or left, and nothing else is changed."""
        if self._keep is None or command in (places.HISTORY_OPEN, places.HISTORY_CLOSE):
            await super().run_command(command, argument)

    @handles(places.HISTORY_OPEN)
    def open(self) -> None:
        row = self._history.marked
        if self._keep is not None:
            self._end_writing(keep=True)
        elif isinstance(row, FolderRow):
            self._history.mark(row.id)
            self._history.fold(row.name)
            self._draw()
        elif row is not None:
            self.post_message(self.Chosen(row.id))

    @handles(places.HISTORY_RENAME)
    def rename(self) -> None:
        row = self._history.marked
        if isinstance(row, HistoryRow):
            keep = partial(self._history.rename, row.id)
            what = "this title. Empty, it is made from the first question."
            self._write(row.heading.title, keep, what, "A title")
        else:
            self.file()

    @handles(places.HISTORY_FILE)
    def file(self) -> None:
        if chosen := self._history.chosen:
            what = "this: the name of a folder, #tags, or both."
            self._write(str(Filing.common(chosen)), partial(self._history.file, chosen), what, "Folder #tag")

    @handles(places.HISTORY_ARCHIVE)
    def archive(self) -> None:
        self._draw(self._history.archive())

    @handles(places.HISTORY_SELECT)
    def select(self) -> None:
        self._history.select()
        self._draw()

    @handles(places.HISTORY_SELECT_ALL)
    def select_all(self) -> None:
        self._history.select_all()
        self._draw()

    @handles(places.HISTORY_PIN)
    def pin(self) -> None:
        self._draw(self._history.pin())

    @handles(places.HISTORY_DELETE)
    def delete(self) -> None:
        chosen = self._history.chosen
        self._draw(self._history.delete(key_of(self, places.HISTORY_UNDO)))
        for heading in chosen:
            if heading.id == self._current and not self._history.has(heading.id):
                self.post_message(self.Deleted(heading.id))

    @handles(places.HISTORY_UNDO)
    def undo(self) -> None:
        self._draw(self._history.undo())

    @handles(places.HISTORY_UP, -1)
    @handles(places.HISTORY_DOWN, 1)
    def move(self, step: int) -> None:
        self._history.move(step)
        self._draw()

    @handles(places.HISTORY_PAGE_UP, -1)
    @handles(places.HISTORY_PAGE_DOWN, 1)
    def page(self, direction: int) -> None:
        self.move(direction * max(1, self._list.size.height - 1))

    @handles(places.HISTORY_CLOSE)
    def close(self) -> None:
        if self._keep is not None:
            self._end_writing(keep=False)
        elif self._history.unselect():
            self._draw()
        else:
            self.post_message(self.Closed())

    def _write(self, text: str, keep: Callable[[str], str], what: str, example: str) -> None:
        """Have a text changed in the field, which is then given to ``keep``; the empty field has an ``example``."""
        if (row := self._history.marked) is not None:
            self._history.mark(row.id)
            self._keep = keep
            self._filter.value, self._filter.placeholder = text, example
            self._filter.cursor_position = len(text)
            self._draw(f"{key_of(self, places.HISTORY_OPEN) or 'Enter'} keeps {what}")

    def _end_writing(self, *, keep: bool) -> None:
        taking, self._keep = self._keep, None
        said = taking(self._filter.value) if keep and taking is not None else ""
        marked = self._history.marked
        self._filter.value, self._filter.placeholder = "", _FILTER
        self._history.filter("")
        if marked is not None:
            self._history.mark(marked.id)
        self._draw(said)

    def _draw(self, said: str = "") -> None:
        if not self.is_mounted:
            return
        rows, marked = self._history.rows, self._history.marked
        self.set_class(not rows, "-empty")
        self._empty.update(Content("" if rows else self._history.empty(key_of(self, SEARCH) or "/search")))
        self._spoken = said
        self._said.update(Content(visible_line(said or self._history.about)))
        hinted = [each for each in places.IN_HISTORY.commands if each.hinted]
        if self._keep is not None:
            self._keys.show({places.HISTORY_OPEN: "keep", places.HISTORY_CLOSE: "leave"})
        else:
            self._keys.show(*(titled(*hinted[n : n + 3]) for n in range(0, len(hinted), 3)))
        self._filling = True
        width = self._list.size.width or self.content_size.width  # while no row is shown the list has no width
        now = utc_now()
        drawn = rows, width, now.replace(second=0, microsecond=0)
        if drawn != self._drawn:
            self._drawn = drawn
            self._list.set_options(_options(rows, self._current, max(12, width - 3), now))
        self._list.highlighted = [row.id for row in rows].index(marked.id) if marked else None
        self._filling = False


def _options(rows: Sequence[HistoryRow | FolderRow], current: str, width: int, now: datetime) -> list[Option]:
    return [
        Option(
            _folder(row, width) if isinstance(row, FolderRow) else _line(row, row.id == current, width, now), id=row.id
        )
        for row in rows
    ]


def _folder(row: FolderRow, width: int) -> Content:
    """The name of a folder, and at the right how many conversations are in it."""
    count = str(len(row.headings))
    if row.selected_n and not row.unfolded:
        count = f"✓ {row.selected_n} of {count}"
    title = set_cell_size(visible_line(row.title), width - 3 - len(count))
    return Content.assemble(("− " if row.unfolded else "+ ", "$quiet"), title, " ", (count, "$quiet"))


def _line(row: HistoryRow, current: bool, width: int, now: datetime) -> Content:
    """The title with the letters that were found, and at the right how old it is."""
    mark = "✓ " if row.selected else "▸ " if current else "★ " if row.heading.pinned else "  "
    when = age(row.heading.updated, now)
    if row.heading.pinned and not mark.startswith("★"):
        when = f"★ {when}"
    if row.in_folder:
        mark = f"  {mark}"
    room = width - len(mark) - len(when) - 1
    title = visible_line(row.heading.title)
    shown = title if cell_len(title) <= room else set_cell_size(title, room - 1).rstrip() + "…"
    text = Content(shown)
    for position in row.positions:
        if position < len(shown):
            text = text.stylize("$accent", position, position + 1)
    gap = " " * max(1, width - len(mark) - cell_len(shown) - len(when))
    return Content.assemble((mark, "$accent"), text, gap, (when, "$quiet"))
