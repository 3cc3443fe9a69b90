"""The links of one reply, to copy an address or open it in the browser. Nothing is opened unasked."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import OptionList, Static

from localspec.base.visible import visible_line
from localspec.chat.commands import places
from localspec.chat.markdown import Link
from localspec.tui.keys.bindings import bindings_of
from localspec.tui.keys.handling import handles
from localspec.tui.prompt.editor import deaf_to_interrupts
from localspec.tui.screens.layouts import ChoiceList, DialogBox, DialogScreen
from localspec.tui.terminal.clipboard import Arrival, copied, copy
from localspec.tui.widgets.key_row import KeyRow, titled

_IN_TERMINAL = (webbrowser.GenericBrowser, webbrowser.Elinks)
"""The kinds of browsers that may run in the terminal. Python's own module starts all of them in the same way."""


class LinksScreen(DialogScreen[str]):
    """Returns a note about what was done; empty if nothing was."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(places.IN_LINKS.commands)
    DEFAULT_CSS = "LinksScreen ChoiceList { max-height: 50vh; }"

    def __init__(self, links: Sequence[Link], first: str = "") -> None:
        """``first`` is the address to begin at."""
        super().__init__()
        self._links = links
        self._list = ChoiceList(*map(_row, links), markup=False)
        self._first = next((n for n, link in enumerate(links) if link.url == first), 0)

    def compose(self) -> ComposeResult:
        with DialogBox(id="links"):
            yield Static("1 link" if len(self._links) == 1 else f"{len(self._links)} links", classes="dialog-title")
            yield self._list
            yield KeyRow(id="links-keys")

    def on_mount(self) -> None:
        self._list.highlighted = self._first
        self.query_one(KeyRow).show(titled(places.LINK_COPY, places.LINK_OPEN, places.LINK_BACK))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.run_worker(self.copy(), exclusive=True)

    @handles(places.LINK_UP, -1)
    @handles(places.LINK_DOWN, 1)
    def move(self, step: int) -> None:
        self._list.move(step)

    @handles(places.LINK_COPY)
    async def copy(self) -> None:
        url = self._marked.url
        self.dismiss(copied_link(url, await copy(self.app, url)))

    @handles(places.LINK_OPEN)
    def open(self) -> None:
        self.dismiss(opened_link(self.app, self._marked.url))

    @handles(places.LINK_BACK)
    def leave(self) -> None:
        self.dismiss("")

    @property
    def _marked(self) -> Link:
        return self._links[self._list.highlighted or 0]


def copied_link(url: str, arrival: Arrival) -> str:
    """A note about a copied address; where the terminal may not take it, with the address to select by hand."""
    return copied(f"{url} is copied", arrival, f"mark it here: {url}" if arrival is Arrival.NOWHERE else "mark it here")


def opened_link(app: App[Any], url: str) -> str:
    """Open an address; returns a note. A browser without a window of its own gets the terminal until it is left."""
    if app.is_web:
        app.open_url(url)
        return f"{url} is opened in the browser."
    try:
        browser = webbrowser.get()
        if not isinstance(browser, _IN_TERMINAL) or isinstance(browser, webbrowser.BackgroundBrowser):
            opened = browser.open(url)
        else:
            with app.suspend(), deaf_to_interrupts():
                opened = browser.open(url)
    except (webbrowser.Error, SuspendNotSupported):
        opened = False
    return f"{url} is opened in the browser." if opened else f"No browser could be started here; mark it here: {url}"


def _row(link: Link) -> Content:
    if link.text == link.url:
        return Content(link.url)
    return Content.assemble(visible_line(link.text), ("  ", ""), (link.url, "$quiet"))
