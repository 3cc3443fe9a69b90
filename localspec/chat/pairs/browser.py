"""The state of the list of pairs: the filter, the highlighted row, and the download that awaits a second Enter.

The rows are the pairs that pass the filter and, while the Hub is searched, the repositories found there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from localspec.base.errors import LocalSpecError
from localspec.chat.pairs import facts, hub_words
from localspec.chat.pairs.downloads import Download, Stage
from localspec.chat.pairs.entry import (
    ERROR,
    NEWS,
    STRONG,
    Entry,
    Line,
    PairAction,
    action_text,
    details,
    in_lines,
    model_details,
    wrapped,
)
from localspec.chat.pairs.library import PairLibrary
from localspec.chat.pairs.model_files import typed_path
from localspec.models.pairs.state import HERE, NOT_HERE
from localspec.runtime.figures import size

if TYPE_CHECKING:
    from localspec.models.discovery.drafts import DraftCandidate
    from localspec.models.discovery.page import ModelPage
    from localspec.models.discovery.search import HubModel
    from localspec.models.pairs import PairDescription

_QUEUED: Mapping[str, Callable[[Download], bool]] = {
    "under way": lambda download: download.active,
    "waiting": lambda download: download.stage is Stage.WAITING,
    "paused": lambda download: download.stage is Stage.PAUSED,
    "failed": lambda download: download.stage is Stage.FAILED,
}
_OF_HUB = "hub:"
"""The beginning of the ids of rows for repositories, which no id of a pair has."""


class Browser:
    """The list of the pairs in ``library``."""

    def __init__(
        self, library: PairLibrary, in_use: str | None = None, marked: str | None = None, *, text: str = ""
    ) -> None:
        """``marked`` is highlighted first, else the recommended pair, else the one in use; ``text`` is the filter."""
        self.in_use = in_use
        self._library = library
        self._text = text
        self._marked = marked
        self._found: str | None = None
        """The pair that the user chose among those that pass the filter."""
        self._listed: tuple[tuple[object, ...], list[Entry], dict[str, Entry]] | None = None
        """The entries with what they follow from, and by id: thousands of them are made once."""
        self._confirming: str | None = None
        """The pair whose download begins with the next Enter."""

    @property
    def text(self) -> str:
        """The filter. A new one moves the highlight to the best match."""
        return self._text

    @text.setter
    def text(self, text: str) -> None:
        if text != self._text:
            self._text, self._found, self._confirming = text, None, None
            if self._library.hub.on:
                self._library.hub.ask(text)

    title = "Pairs"
    hint = "Type to filter: a name, a licence, here, fits, mtp"
    searches = True
    """True if the Hub can be searched from here."""

    @property
    def entries(self) -> list[Entry]:
        """The pairs that pass the filter: first the queue of downloads, then the others in the catalogue's order."""
        made_of = self._made_of()
        if self._listed is None or self._listed[0] != made_of:
            everything = self._everything()
            words = self._text if self.path is None else str(self.path)
            passing = [entry for entry in everything if entry.passes(words)] if words.strip() else everything
            self._listed = made_of, passing, {entry.pair.id: entry for entry in passing}
        return self._listed[1]

    @property
    def path(self) -> Path | None:
        """The path that was typed in place of a filter; None for other words."""
        return typed_path(self._text) if self.searches else None

    def add_files(self) -> bool:
        """Add the models at the path that was typed, unless pairs of it are listed; False if there is no path."""
        path = self.path
        if path is None or self.marked_row is not None:
            return False
        self._library.collect(path)
        return True

    def add(self, path: Path) -> None:
        """Add the models of a file or a folder that was chosen, and list what lies there."""
        self.text = str(path)
        self._library.collect(path)

    def _made_of(self) -> tuple[object, ...]:
        """The values that the entries follow from: they are made anew when these are others."""
        return self._library.pairs, self.in_use, self._text, *self._library.downloads.all

    @property
    def queue_heading(self) -> str:
        """The line above the downloads; empty if there are none, or if they are not listed."""
        queue = self._library.downloads.queue if self.searches else ()
        counted = [(sum(test(each) for each in queue), word) for word, test in _QUEUED.items()]
        return ", ".join(f"{n} {word}" for n, word in counted if n)

    def _everything(self) -> list[Entry]:
        downloads = self._library.downloads
        entries = [Entry(pair, downloads.get(pair.id), pair.id == self.in_use) for pair in self._library.pairs]
        places = {download.pair_id: place for place, download in enumerate(downloads.queue)}
        if not places:
            return entries
        return sorted(entries, key=lambda entry: places.get(entry.pair.id, len(places)))

    @property
    def models(self) -> Sequence[HubModel]:
        """The repositories found on the Hub, if it is searched from here."""
        return self._library.hub.found if self.searches else ()

    @property
    def hub_heading(self) -> str:
        """The line above the repositories; empty while the Hub is not searched from here."""
        return self._library.hub.heading if self.searches else ""

    @property
    def hidden(self) -> str:
        """The effect of the key that lists the repositories which cannot be chatted with, or hides them."""
        hub = self._library.hub
        return "" if not hub.hidden_n else f"hide {hub.hidden_n}" if hub.with_all else f"show {hub.hidden_n} more"

    def show_hidden(self) -> None:
        """List also the repositories that cannot be chatted with, or hide them again."""
        self._library.hub.with_all = not self._library.hub.with_all

    @property
    def marked_row(self) -> str | None:
        """The id of the highlighted row: the user's choice, else the best match; None if there is no row."""
        entries = self.entries
        gone_to = self._found if self._text.strip() else self._marked or self._recommended
        if self._entry(gone_to) is not None or gone_to in {row_of(model) for model in self.models}:
            return gone_to
        nearest = self._nearest(entries)
        if nearest is not None:
            return nearest.pair.id
        return row_of(self.models[0]) if self.models else None

    @property
    def _recommended(self) -> str | None:
        """The recommended pair, which may change when speeds have been measured, else the one in use."""
        return next((entry.pair.id for entry in self.entries if entry.pair.recommended_here), self.in_use)

    @property
    def marked(self) -> Entry | None:
        """The highlighted pair; None if a repository is highlighted, or nothing."""
        return self._entry(self.marked_row)

    def _entry(self, row: str | None) -> Entry | None:
        """The entry of a row; None if it is another's."""
        entries = self.entries
        if self._listed is not None and self._listed[1] is entries:
            return self._listed[2].get(row or "")
        return next((entry for entry in entries if entry.pair.id == row), None)

    @property
    def marked_model(self) -> HubModel | None:
        """The highlighted repository; None if a pair is highlighted, or nothing."""
        row = self.marked_row
        return next((model for model in self.models if row_of(model) == row), None)

    @property
    def refusal(self) -> str:
        """The files that could not be added, with the reasons; empty if all were."""
        refused = self._library.refused
        return f"Not added: {refused}".strip() if refused is not None else ""

    def details(self, cells: int, take: str, question: str) -> list[Line]:
        """All that is known of the highlighted row, in lines of ``cells``; ``take`` is the key for its action."""
        lines = list(wrapped("", self.refusal, cells, ERROR))
        if (model := self.marked_model) is not None:
            return [*lines, *model_details(model, cells)]
        entry = self.marked
        if entry is None:
            return lines
        calls = self._library.calls_tools(entry.pair)
        lines += details(entry, cells, take, question)
        return [*lines, *wrapped("calls tools", calls, cells)] if calls else lines

    def action(self, entry: Entry | None) -> str:
        """The effect of Enter on a row of a pair, with its cost; empty if it has none."""
        return action_text(entry)

    def drafts(self, entry: Entry) -> DraftBrowser:
        """The browser of drafts for the target of a pair."""
        return DraftBrowser(self._library, entry)

    def mark(self, row_id: str) -> None:
        if self._confirming != row_id:
            self._confirming = None
        self._marked = self._found = row_id

    def _nearest(self, entries: list[Entry]) -> Entry | None:
        """The pair whose name is the filter, or contains it, or the first."""
        wanted = " ".join(self._text.lower().split())
        if not wanted:
            return next(iter(entries), None)
        names = [(entry, (entry.pair.id, entry.pair.title.lower())) for entry in entries]
        called = [entry for entry, each in names if wanted in each]
        named = [entry for entry, each in names if any(wanted in name for name in each)]
        return next(iter((*called, *named, *entries)), None)

    def fetch(self, entry: Entry) -> None:
        """Put the download of a pair into the queue, or resume it."""
        self._library.fetch(entry.pair.id)

    def pause(self) -> None:
        if (entry := self.marked) is not None:
            self._library.downloads.stop(entry.pair.id)

    def take_out(self) -> None:
        """Take the download of the highlighted pair out of the queue."""
        if (entry := self.marked) is not None:
            self._library.take_out(entry.pair.id)

    def move(self, step: int) -> None:
        """Move the download of the highlighted pair by so many places in the queue."""
        if (entry := self.marked) is not None and entry.is_queued:
            self._library.downloads.move(entry.pair.id, step)

    def search(self, *, on: bool) -> None:
        """Search the Hub for the words of the filter, from now on at every change of it; or end that."""
        if on:
            self._library.hub.ask(self._text)
        else:
            self._library.hub.end()

    def page(self, model: HubModel) -> PageBrowser:
        """The browser of a repository's page, which is read anew."""
        self._library.hub.forget(model.name)
        return PageBrowser(self._library, model, self.in_use)

    def agreed(self, entry: Entry) -> bool:
        """Return True to begin an action; a download, which takes long and much room, needs a second call."""
        agreed = entry.action is not PairAction.FETCH or self._confirming == entry.pair.id
        self._confirming = None if agreed else entry.pair.id
        return agreed

    def question(self, take: str) -> str:
        """The effect of a second Enter in a sentence; empty if none is awaited. ``take`` is the key."""
        entry = self.marked
        if entry is None or entry.pair.id != self._confirming or entry.action is not PairAction.FETCH:
            return ""
        return facts.download_question(entry.pair, take, self._library.world.place())

    @property
    def heading(self) -> str:
        """The number of pairs, and the state of the search of the Hub or else the meaning of the star."""
        shown_n, all_n = len(self.entries), len(self._library.pairs)
        if not all_n:
            return ""
        counted = f"{shown_n} of {all_n} pairs" if self._text.strip() else f"{shown_n} pairs"
        if state := self._library.hub.state:
            return f"{counted}, {state}"
        if not self._library.judged:
            return f"{counted}, measuring what fits"
        return f"{counted}, * recommended for this machine"

    def empty(self, take: str) -> str:
        """The reason why the list is empty; ``take`` is the key that adds the models of a path."""
        if self._library.problem is not None:
            return str(self._library.problem)
        if not self._library.pairs:
            return "Reading the list of pairs."
        if self.path is not None:
            refused = self._library.refused
            return str(refused).strip() if refused else f"{take} adds the models of this file or folder as pairs."
        if self.text.strip().lower().endswith(".gguf"):
            return "`localspec pairs add --target FILE --draft FILE` adds a pair of files that you have."
        nothing = f"No pair has all of {self.text!r} in its name, files, licence, state or fit."
        return f"{nothing} {self.hub_heading or 'Backspace widens the filter.'}"


def row_of(model: HubModel) -> str:
    return f"{_OF_HUB}{model.name}"


class PageBrowser(Browser):
    """The models of a repository by quantisation, as pairs without a draft; the best one has the star."""

    searches = False
    hint = "Type to filter: Q4, here, fits"

    def __init__(self, library: PairLibrary, model: HubModel, in_use: str | None = None) -> None:
        super().__init__(library, in_use)
        self.title = model.name
        self._model = model

    @property
    def _page(self) -> ModelPage | LocalSpecError | None:
        return self._library.hub.page(self._model.name)

    def _made_of(self) -> tuple[object, ...]:
        return self._page, self._text

    def _everything(self) -> list[Entry]:
        page = self._page
        if page is None or isinstance(page, LocalSpecError):
            return []
        because = hub_words.best_line(page).removeprefix("* ")
        shown = (
            replace(
                each.described,
                title=each.label,
                recommended_here=each is page.best,
                recommended_because=because if each is page.best else "",
            )
            for each in page.quantisations
        )
        return [Entry(pair) for pair in shown]

    def search(self, *, on: bool) -> None:
        """Nothing here: the search goes on in the list behind."""

    @property
    def marked_row(self) -> str | None:
        """The user's choice, else the best one."""
        entries = self.entries
        ids = [entry.pair.id for entry in entries]
        best = next((entry.pair.id for entry in entries if entry.pair.recommended_here), None)
        chosen = self._found if self._text.strip() else self._marked
        return chosen if chosen in ids else best or next(iter(ids), None)

    def fetch(self, entry: Entry) -> None:
        """Add the model as a pair, and begin its download."""
        page = self._page
        assert page is not None
        assert not isinstance(page, LocalSpecError)
        self._library.adopt(next(each for each in page.quantisations if each.described.id == entry.pair.id))

    @property
    def heading(self) -> str:
        return hub_words.model_line(self._model)

    def empty(self, take: str) -> str:
        page = self._page
        if isinstance(page, LocalSpecError):
            return str(page)
        return "Reading what the repository has." if page is None else "No file has this in its name, state or fit."


class DraftBrowser(Browser):
    """The drafts for the target of a pair, by expected gain; what cannot draft for it is listed when asked for."""

    searches = False
    hint = "Type to filter: a name, here; refused: what cannot draft for it, and why"

    def __init__(self, library: PairLibrary, entry: Entry) -> None:
        super().__init__(library)
        self.title = f"Drafts for {entry.pair.title}"
        self._pair = entry.pair
        self._search = library.drafts(entry.pair.id)

    @property
    def entries(self) -> list[Entry]:
        words = self._text.lower().split()
        with_refused = "refused" in words
        return [
            Entry(self._described(each))
            for each in self._search.found
            if (each.fits or with_refused) and all(word in _draft_words(each) for word in words)
        ]

    def _described(self, each: DraftCandidate) -> PairDescription:
        """A draft in the form of a pair, for its row."""
        gain = f"~{each.gain:.2f}x" if each.gain else "?"
        return replace(
            self._pair,
            id=each.name,
            title=f"{gain if each.fits else 'refused':<7} {each.name}",
            state=HERE if each.is_here else NOT_HERE,
            available=each.is_here,
            size_bytes=each.size_bytes,
            missing_bytes=0 if each.is_here else each.size_bytes + (self._pair.missing_bytes or 0),
            arrived_bytes=0,
            fit=None,
            memory=None,
            speed=each.expected,
            recommended_here=each.fits and each is self._search.found[0] and self._search.over,
        )

    def search(self, *, on: bool) -> None:
        """End the search when the list is left."""
        if not on:
            self._search.end()

    def details(self, cells: int, take: str, question: str) -> list[Line]:
        row = self.marked_row
        each = next((each for each in self._search.found if each.name == row), None)
        if each is None:
            return []
        known = hub_words.draft_facts(each, self._pair.title)
        return [("", each.name, STRONG), *wrapped("", question, cells, NEWS), *in_lines(known, cells)]

    def action(self, entry: Entry | None) -> str:
        if entry is None or not any(each.fits and each.name == entry.pair.id for each in self._search.found):
            return ""
        missing = f", download {size(entry.pair.missing_bytes)}" if entry.pair.missing_bytes else ""
        return f"make it a pair{missing}"

    def fetch(self, entry: Entry) -> None:
        """Make the target and this draft a pair, and download what is missing of it."""
        self._library.pair_with(self._pair.id, entry.pair.id)

    @property
    def heading(self) -> str:
        search = self._search
        if search.error is not None and search.found:
            return f"the rest was not searched: {search.error.message}"
        if not search.over:
            return "reading headers, here and on the Hub"
        return "by expected gain" if any(each.gain for each in search.found) else "heads first, then by size"

    def empty(self, take: str) -> str:
        search = self._search
        if search.error is not None:
            return str(search.error)
        if not search.over:
            return "Looking for drafts on this machine and on the Hub; a few MB of headers are read."
        refused_n = sum(not each.fits for each in search.found)
        more = f" {refused_n} cannot draft for it: type refused to see why." if refused_n else ""
        return f"Nothing was found that can draft for it. It drafts itself from its own text (suffix).{more}"


def _draft_words(each: DraftCandidate) -> str:
    """The text that a filter of drafts looks in."""
    return f"{each.name} {'here' if each.is_here else ''} {'' if each.fits else 'refused'}".lower()
