"""The list of pairs as the reader has it: what is typed into the filter, and which pair is highlighted."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from localspec.chat.pairs import facts
from localspec.chat.pairs.downloads import Stage
from localspec.chat.pairs.entry import Deed, Entry
from localspec.chat.pairs.library import PairLibrary
from localspec.models.pairs.state import MISSING, WAITS
from localspec.models.pairs.suitability import RED
from localspec.runtime.figures import size

ERROR, STRONG, NEWS, FACT = "error", "strong", "news", ""
Line = tuple[str, str, str]
"""A name or none, a text, and what it is; only a fact has its text in a column of its own."""

_FIRST = ("note", "speed-up", "source", "recommended", "fit", "state", "memory", "licence")
_NAME_CELLS = 13


class Browser:
    """Pure; ``library`` says what there is."""

    def __init__(
        self, library: PairLibrary, in_use: str | None = None, marked: str | None = None, *, text: str = ""
    ) -> None:
        """``text`` is the filter to begin with."""
        self.in_use = in_use
        self._library = library
        self._text = text
        self._marked = marked
        self._found: str | None = None
        """The pair that the reader has gone to among those that pass the filter."""
        self._asked: str | None = None
        """The pair whose download begins when it is asked for once more."""

    @property
    def text(self) -> str:
        """The filter. With another one the highlight is on what it is most about."""
        return self._text

    @text.setter
    def text(self, text: str) -> None:
        if text != self._text:
            self._text, self._found, self._asked = text, None, None

    @property
    def entries(self) -> list[Entry]:
        """Those that pass the filter, in the catalogue's order; pairs that only wait where there are no others."""
        passing = [entry for entry in self._everything if entry.passes(self._text)]
        usable = [entry for entry in passing if not entry.only_waits]
        return usable or (passing if self._text.strip() else [])

    @property
    def _everything(self) -> list[Entry]:
        downloads = self._library.downloads
        return [Entry(pair, downloads.get(pair.id), pair.id == self.in_use) for pair in self._library.pairs]

    @property
    def marked(self) -> Entry | None:
        """The one that is highlighted: where the reader went, else what the filter says; None if none passes."""
        entries = self.entries
        gone_to = self._found if self._text.strip() else self._marked
        return next((entry for entry in entries if entry.pair.id == gone_to), self._nearest(entries))

    def mark(self, pair_id: str) -> None:
        if self._asked != pair_id:
            self._asked = None
        self._marked = self._found = pair_id

    def _nearest(self, entries: list[Entry]) -> Entry | None:
        """The one called as the filter says, or with these words in a row in its name, or the first."""
        wanted = " ".join(self._text.lower().split())
        names = [(entry, (entry.pair.id, entry.pair.title.lower())) for entry in entries]
        called = [entry for entry, each in names if wanted in each]
        named = [entry for entry, each in names if any(wanted in name for name in each)]
        return next(iter((*called, *named, *entries)), None)

    def agreed(self, entry: Entry) -> bool:
        """Whether to begin a download, which is asked for twice: it takes long and much room."""
        agreed = entry.deed is not Deed.FETCH or self._asked == entry.pair.id
        self._asked = None if agreed else entry.pair.id
        return agreed

    def question(self, take: str) -> str:
        """What asking once more would do; empty if nothing was asked. ``take`` is the key that asks."""
        entry = self.marked
        if entry is None or entry.pair.id != self._asked or entry.deed is not Deed.FETCH:
            return ""
        what = size(entry.pair.missing_bytes) if entry.pair.missing_bytes else "it"
        return f"{take} once more downloads {what} to {self._library.world.place()}."

    @property
    def heading(self) -> str:
        """How many there are, and what the star means."""
        shown_n, all_n = len(self.entries), len(self._library.pairs)
        if not all_n:
            return ""
        counted = f"{shown_n} of {all_n} pairs" if self._text.strip() else f"{shown_n} pairs"
        if not self._text.strip() and shown_n < all_n:
            waiting_n = all_n - shown_n
            counted += f", {waiting_n} {WAITS if waiting_n == 1 else 'wait'}"
        if not self._library.judged:
            return f"{counted}, measuring what fits"
        return f"{counted}, * recommended for this machine"

    @property
    def empty(self) -> str:
        """Why the list is empty."""
        if self._library.problem is not None:
            return str(self._library.problem)
        if not self._library.pairs:
            return "Reading the list of pairs."
        if self.text.strip().lower().endswith(".gguf"):
            return "`localspec pairs add --target FILE --draft FILE` adds a pair of files that you have."
        return (
            f"No pair has all of {self.text!r} in its name, files, licence, state or fit. Backspace widens the filter."
        )


def deed_words(entry: Entry | None) -> str:
    """What Enter does with a pair, with what it costs; empty if nothing."""
    if entry is None or entry.deed is Deed.NOTHING:
        return ""
    if entry.deed is Deed.FETCH and entry.pair.missing_bytes:
        return f"{entry.deed} {size(entry.pair.missing_bytes)}"
    if entry.deed is Deed.RESUME and (arrived := facts.arrived(entry.pair)):
        return f"{entry.deed}, {arrived} are here"
    return str(entry.deed)


def details(entry: Entry, cells: int, take: str = "", question: str = "") -> list[Line]:
    """All that is known of a pair, in lines of at most ``cells``: what is asked or happens now first.

    ``take`` is the key that does with it what can be done; empty if there is none.
    """
    news = question or _news(entry, take)
    lines: list[Line] = [("", entry.pair.title, STRONG), *_wrapped("", news, cells, _look(entry))]
    for name, text in _ordered(entry):
        lines += _wrapped(name, text, cells)
    return lines


def _news(entry: Entry, take: str) -> str:
    """What is going on, or what stands in the way, and what to do about it."""
    download, pair = entry.download, entry.pair
    if download is not None and not pair.available and download.stage is not Stage.DONE:
        if download.error is not None:
            return f"{download.error} {take} tries again." if take else str(download.error)
        if not download.active:
            kept = f"{download.line.capitalize()}. What has arrived is kept"
            return f"{kept}; {take} goes on." if take else f"{kept}."
        return download.line
    if pair.state == MISSING:
        return f"{pair.reason} {pair.hint}"
    if entry.gone:
        return "Its files are no longer on the disk. What is loaded goes on; to load it again, download it again."
    if entry.deed is Deed.RESUME:
        kept = f"A download of it was stopped; {facts.arrived(pair)} are here"
        return f"{kept}, and {take} resumes." if take else f"{kept}."
    if entry.deed is Deed.FETCH and pair.fit is not None and pair.fit.colour == RED:
        return "It can be downloaded, but is too big to be used here."
    return ""


def _look(entry: Entry) -> str:
    failed = entry.download is not None and entry.download.stage is Stage.FAILED
    return ERROR if failed or entry.gone or entry.pair.state == MISSING else NEWS


def _ordered(entry: Entry) -> facts.Facts:
    """The facts, those that a choice depends on first; how to get a pair is Enter's to do here."""
    groups: list[tuple[str, facts.Facts]] = []
    for name, text in facts.facts(entry.pair):
        if name:
            groups.append((name, []))
        groups[-1][1].append((name, text))
    left_out = {"to get it", "arrived"} if entry.pair.state != WAITS else set()
    groups = [group for group in groups if group[0] not in left_out]
    groups.sort(key=lambda group: _FIRST.index(group[0]) if group[0] in _FIRST else len(_FIRST))
    return [row for _, facts in groups for row in facts]


def _wrapped(name: str, text: str, cells: int, look: str = FACT) -> Sequence[Line]:
    room = max(20, cells - (_NAME_CELLS if look == FACT else 0))
    parts = textwrap.wrap(text, room, break_on_hyphens=False)
    return [(name if not n else "", part, look) for n, part in enumerate(parts)]


def line_text(line: Line) -> tuple[str, str]:
    """A line's name in its column, and its text."""
    name, text, look = line
    return (f"{name:<{_NAME_CELLS}}" if look == FACT else ""), text
