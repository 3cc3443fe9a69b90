"""The search of all conversations, run anew at every letter."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from localspec.base.errors import StoreError
from localspec.base.visible import visible_line
from localspec.chat.commands import places
from localspec.store import Hit, Store
from localspec.tui.keys.bindings import bindings_of
from localspec.tui.keys.handling import handles
from localspec.tui.screens.layouts import ColumnScreen
from localspec.tui.widgets.field import Field
from localspec.tui.widgets.key_row import KeyRow
from localspec.tui.widgets.row_list import QuietList

WHAT_TO_TYPE = (
    'Type words that were said; the last one may be unfinished. "Quotes" keep words together. '
    "tag:NAME and folder:NAME search what is filed there, is:any the archive, too."
)
NOTHING_FOUND = "Nothing was said with all of these words. Fewer of them find more."
_INDENT, _LEAST_WIDTH = "  ", 10
_WHO = {"user": "you", "assistant": "model"}


class HitList(QuietList, can_focus=False):
    """The hits."""


class SearchScreen(ColumnScreen[Hit | None]):
    """Returns the hit to go to, or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(places.IN_SEARCH.commands)
    DEFAULT_CSS = """
    SearchScreen #search-head { height: 1; padding: 0 2; color: $accent; text-style: bold; }
    SearchScreen .field-row { margin: 0 0 1 0; }
    SearchScreen HitList { margin: 0 1; }
    SearchScreen #search-said { padding: 0 2; color: $quiet; }
    """

    def __init__(self, store: Store, words: str = "") -> None:
        """``words`` are searched for at once."""
        super().__init__()
        self._store = store
        self._words = words
        self._query = Field()
        self._list = HitList(markup=False)
        self._said = Static(Content(WHAT_TO_TYPE), id="search-said")
        self._hits: list[Hit] = []

    def compose(self) -> ComposeResult:
        yield Static("Search", id="search-head")
        with Horizontal(classes="field-row"):
            yield Static("› ")
            yield self._query
        yield self._said
        yield self._list
        yield KeyRow(id="search-keys")

    def on_mount(self) -> None:
        self._query.focus()
        self._query.value = self._words
        moving = (places.SEARCH_UP, places.SEARCH_DOWN)
        self.query_one(KeyRow).show({places.SEARCH_OPEN: "go there", moving: "choose", places.SEARCH_BACK: "back"})

    def on_input_changed(self, event: Input.Changed) -> None:
        self._search(event.value)

    @handles(places.SEARCH_BACK)
    def leave(self) -> None:
        self.dismiss(None)

    @handles(places.SEARCH_OPEN)
    def open(self) -> None:
        at = self._list.highlighted
        if at is not None and at < len(self._hits):
            self.dismiss(self._hits[at])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_index < len(self._hits):  # they may be others by now
            self.dismiss(self._hits[event.option_index])

    @handles(places.SEARCH_UP, -1)
    @handles(places.SEARCH_DOWN, 1)
    @handles(places.SEARCH_PAGE_UP, -5)
    @handles(places.SEARCH_PAGE_DOWN, 5)
    def move(self, step: int) -> None:
        self._list.move(step)

    @work(group="search", exclusive=True)
    async def _search(self, text: str) -> None:
        """Search and show the hits; a newer query cancels this one."""
        said = WHAT_TO_TYPE
        hits: list[Hit] = []
        if text.strip():
            try:
                hits = await asyncio.to_thread(self._store.search, text)
                said = "" if hits else NOTHING_FOUND
            except StoreError as error:
                said = str(error)
        self._hits = hits
        self._said.update(Content(said))
        self._said.display = bool(said)
        self._fill(0 if hits else None)

    def on_resize(self) -> None:
        self.call_after_refresh(lambda: self._fill(self._list.highlighted))

    def _fill(self, marked: int | None) -> None:
        width = max(_LEAST_WIDTH, self._list.scrollable_content_region.width - 2)
        self._list.set_options([Option(_lines(hit, width)) for hit in self._hits])
        self._list.highlighted = marked


def _lines(hit: Hit, width: int) -> Content:
    """Title, role and date of a hit in a row, and below them the snippet, indented."""
    who = f"  {_WHO.get(hit.role, hit.role) if hit.role else 'title'}, {hit.at.astimezone():%Y-%m-%d}"
    snippet = Content.assemble(*((piece, "$accent bold" if found else "") for piece, found in hit.snippet))
    title = Content(visible_line(hit.title)).truncate(max(1, width - len(who)), ellipsis=True)
    where = Content.assemble(title, who).stylize("$quiet")
    rows = snippet.wrap(width - len(_INDENT))
    return Content("\n").join([where, *(Content.assemble(_INDENT, row.rstrip()) for row in rows)])
