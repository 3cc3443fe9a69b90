"""The list of pairs: what fits this machine, what is here, what is being downloaded; and models on the Hub."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from localspec.base.visible import visible_line
from localspec.chat.commands import places
from localspec.chat.pairs.browser import Browser
from localspec.chat.pairs.entry import Entry, PairAction
from localspec.chat.pairs.model_files import folder_around
from localspec.tui.controllers.pairs import PairController
from localspec.tui.keys.bindings import bindings_of, key_of
from localspec.tui.keys.handling import handles
from localspec.tui.screens.layouts import ColumnScreen
from localspec.tui.widgets.field import Field, PathSuggester
from localspec.tui.widgets.key_row import KeyHints, KeyRow
from localspec.tui.widgets.pair_details import PairDetails
from localspec.tui.widgets.pair_list import PairList


class PairsScreen(ColumnScreen[str | None]):
    """Returns the id of the pair to use, or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(places.IN_PAIRS.commands)
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall"), (34, "-high")]  # noqa: RUF012 - Textual declares it so
    DEFAULT_CSS = """
    PairsScreen .field-row { margin: 0 0 1 0; }
    PairsScreen #pairs-empty { height: 1fr; padding: 0 2; color: $quiet; display: none; }
    PairsScreen PairDetails { height: 9; }
    PairsScreen.-high .head { margin: 1 0; }
    PairsScreen.-high PairDetails { height: 15; }
    PairsScreen #pairs-keys { margin: 1 0 0 0; }
    PairsScreen.-high #pairs-keys { margin: 1 0; }
    PairsScreen.-short .field-row, PairsScreen.-short #pairs-keys { margin: 0; }
    PairsScreen.-short PairDetails { height: 5; }
    PairsScreen.-short.-reading PairList { display: none; }
    PairsScreen.-short.-reading PairDetails { height: 1fr; }
    PairsScreen.-empty PairList, PairsScreen.-empty PairDetails { display: none; }
    PairsScreen.-empty #pairs-empty { display: block; }
    """

    def __init__(self, controller: PairController, browser: Browser) -> None:
        super().__init__()
        self._controller = controller
        self._browser = browser
        suggester = PathSuggester() if browser.searches else None
        self._filter = Field(browser.text, placeholder=browser.hint, suggester=suggester)
        self._list = PairList()
        self._details = PairDetails()
        self._count = Static("", id="pairs-count", classes="count")
        self._empty = Static("", id="pairs-empty")
        self._keys = KeyRow(id="pairs-keys")

    def compose(self) -> ComposeResult:
        with Horizontal(classes="head"):
            yield Static(Content(visible_line(self._browser.title)), id="pairs-title", classes="title")
            yield self._count
        with Horizontal(classes="field-row"):
            yield Static("› ")
            yield self._filter
        yield self._list
        yield self._empty
        yield self._details
        yield self._keys

    def on_mount(self) -> None:
        self._filter.focus()
        self.show_pairs()

    def on_unmount(self) -> None:
        if self._browser.searches:  # and not the page of a model, or its drafts, from which one returns to the list
            self._controller.library.seen()

    def on_resize(self) -> None:
        self.call_after_refresh(self.show_pairs)

    def show_pairs(self) -> None:
        if not self.is_mounted:
            return
        browser = self._browser
        marked = browser.marked
        empty = browser.marked_row is None
        if empty is not self.has_class("-empty"):
            self.set_class(empty, "-empty")
            self.call_after_refresh(self.show_pairs)  # by the widths of what was hidden until now
        take = key_of(self, places.PAIR_TAKE)
        self._empty.update(Content(visible_line(browser.empty(take)) if empty else ""))
        self._count.update(Content(visible_line(browser.heading)))
        self._list.show(browser)
        question = browser.question(take)
        self._details.show(browser, question)
        self._keys.show(self._hints(marked, asked=bool(question)))

    def _hints(self, marked: Entry | None, *, asked: bool) -> KeyHints:
        """The commands that count now; ``asked`` is True if the key has to be pressed once more."""
        browser = self._browser
        if marked is None and browser.path is not None:
            add: KeyHints = {places.PAIR_TAKE: "add", places.PAIR_DETAILS: "complete", places.PAIR_FILES: "files"}
            return {**add, places.PAIR_BACK: "back"}
        action = browser.action(marked) if browser.marked_model is None else "its files"
        hints: KeyHints = {places.PAIR_TAKE: f"once more: {action}" if asked else action} if action else {}
        hints |= self._queue_hints(marked)
        if browser.hub_heading:
            hints[places.PAIR_HUB] = "end the search"
        elif browser.searches:
            hints |= {places.PAIR_HUB: "search the Hub", places.PAIR_FILES: "files"}
        if browser.marked_row is not None:
            hints[places.PAIR_DETAILS] = "details"
        if browser.hub_heading and browser.hidden:
            hints[places.PAIR_HIDDEN] = browser.hidden
        elif browser.searches and not browser.hub_heading and marked is not None:
            hints[places.PAIR_DRAFT] = "drafts"
        return {**hints, places.PAIR_BACK: "back"}

    def _queue_hints(self, marked: Entry | None) -> KeyHints:
        """The commands for a download in the queue."""
        if marked is None or marked.download is None or not marked.is_queued:
            return {}
        hints: KeyHints = {places.PAIR_STOP: "pause"} if marked.download.pending else {}
        hints[places.PAIR_OUT] = "take out"
        if len(self._controller.library.downloads.queue) > 1:
            hints[places.PAIR_SOONER] = "sooner"
        return hints

    def on_input_changed(self, event: Input.Changed) -> None:
        self._browser.text = event.value
        self.show_pairs()

    def on_row_list_marked(self, event: PairList.Marked) -> None:
        self._browser.mark(event.row_id)
        self.show_pairs()

    # Commands

    @handles(places.PAIR_TAKE)
    def take(self) -> None:
        model, marked = self._browser.marked_model, self._browser.marked
        if model is not None:
            self.app.push_screen(PairsScreen(self._controller, self._browser.page(model)), self._choose)
            return
        if self._browser.add_files():
            return
        if marked is None or not self._browser.action(marked):
            return
        if marked.action is PairAction.USE and self._browser.searches:
            self.dismiss(marked.pair.id)
        elif self._browser.agreed(marked):
            self._browser.fetch(marked)
            if not self._browser.searches:
                self.dismiss(None)
                return
        self.show_pairs()

    def _choose(self, pair_id: str | None) -> None:
        """Use the model that was chosen on a repository's page; None returns to the list."""
        if pair_id is not None:
            self.dismiss(pair_id)

    @handles(places.PAIR_HUB)
    def search_hub(self) -> None:
        if self._browser.searches:
            self._browser.search(on=not self._browser.hub_heading)
            self.show_pairs()

    @handles(places.PAIR_HIDDEN)
    def show_hidden(self) -> None:
        self._browser.show_hidden()
        self.show_pairs()

    @handles(places.PAIR_DRAFT)
    def find_draft(self) -> None:
        if (marked := self._browser.marked) is not None and self._browser.searches:
            self.app.push_screen(PairsScreen(self._controller, self._browser.drafts(marked)), self._choose)

    @handles(places.PAIR_STOP)
    def pause_download(self) -> None:
        self._browser.pause()

    @handles(places.PAIR_OUT)
    def take_out(self) -> None:
        self._browser.take_out()

    @handles(places.PAIR_SOONER, -1)
    @handles(places.PAIR_LATER, 1)
    def move_download(self, step: int) -> None:
        self._browser.move(step)
        self.show_pairs()

    @handles(places.PAIR_FILES)
    def choose_files(self) -> None:
        if self._browser.searches:
            from localspec.tui.screens.model_files import ModelFilesScreen

            self.app.push_screen(ModelFilesScreen(folder_around(self._browser.path)), self._add)

    def _add(self, path: Path | None) -> None:
        """Add what was chosen on the disk: the list then shows it."""
        if path is not None:
            self._browser.add(path)
            self._filter.value = self._browser.text
            self._filter.cursor_position = len(self._filter.value)
            self.show_pairs()

    @handles(places.PAIR_DETAILS)
    def read_details(self) -> None:
        if (self._filter.has_focus and self._filter.complete()) or self._browser.marked_row is None:
            return
        reading = self._details.has_focus
        self.set_class(not reading, "-reading")
        (self._filter if reading else self._details).focus()

    @handles(places.PAIR_UP, -1)
    @handles(places.PAIR_DOWN, 1)
    def move(self, step: int) -> None:
        self._list.move(step)

    @handles(places.PAIR_PAGE_UP, -1)
    @handles(places.PAIR_PAGE_DOWN, 1)
    def page(self, direction: int) -> None:
        self._list.move(direction * max(1, self._list.size.height - 1))

    @handles(places.PAIR_BACK)
    def leave(self) -> None:
        self._browser.search(on=False)
        self.dismiss(None)
