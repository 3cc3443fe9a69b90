"""The state of the list of pairs: the filter, the highlighted pair, and the download that awaits a second Enter."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from localspec.chat.pairs import facts
from localspec.chat.pairs.downloads import Stage
from localspec.chat.pairs.entry import Entry, PairAction
from localspec.chat.pairs.library import PairLibrary
from localspec.models.pairs.state import MISSING
from localspec.models.pairs.suitability import RED
from localspec.runtime.figures import size

ERROR, STRONG, NEWS, FACT = "error", "strong", "news", ""
Line = tuple[str, str, str]
"""A name (or an empty one), a text, and the style; only a fact has its name in a column."""

_FIRST = ("note", "speed-up", "source", "recommended", "fit", "speed", "state", "memory", "licence")
_NAME_CELLS = 13


class Browser:
    """The list of the pairs in ``library``."""

    def __init__(
        self, library: PairLibrary, in_use: str | None = None, marked: str | None = None, *, text: str = ""
    ) -> None:
        """``text`` is the initial filter."""
        self.in_use = in_use
        self._library = library
        self._text = text
        self._marked = marked
        self._found: str | None = None
        """The pair that the user chose among those that pass the filter."""
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

    @property
    def entries(self) -> list[Entry]:
        """The pairs that pass the filter, in the catalogue's order."""
        downloads = self._library.downloads
        everything = (Entry(pair, downloads.get(pair.id), pair.id == self.in_use) for pair in self._library.pairs)
        return [entry for entry in everything if entry.passes(self._text)]

    @property
    def marked(self) -> Entry | None:
        """The highlighted pair: the user's choice, else the best match; None if none passes."""
        entries = self.entries
        gone_to = self._found if self._text.strip() else self._marked
        return next((entry for entry in entries if entry.pair.id == gone_to), self._nearest(entries))

    def mark(self, pair_id: str) -> None:
        if self._confirming != pair_id:
            self._confirming = None
        self._marked = self._found = pair_id

    def _nearest(self, entries: list[Entry]) -> Entry | None:
        """The pair whose name is the filter, or contains it, or the first."""
        wanted = " ".join(self._text.lower().split())
        names = [(entry, (entry.pair.id, entry.pair.title.lower())) for entry in entries]
        called = [entry for entry, each in names if wanted in each]
        named = [entry for entry, each in names if any(wanted in name for name in each)]
        return next(iter((*called, *named, *entries)), None)

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
        """The number of pairs, and the meaning of the star."""
        shown_n, all_n = len(self.entries), len(self._library.pairs)
        if not all_n:
            return ""
        counted = f"{shown_n} of {all_n} pairs" if self._text.strip() else f"{shown_n} pairs"
        if not self._library.judged:
            return f"{counted}, measuring what fits"
        return f"{counted}, * recommended for this machine"

    @property
    def empty(self) -> str:
        """The reason why the list is empty."""
        if self._library.problem is not None:
            return str(self._library.problem)
        if not self._library.pairs:
            return "Reading the list of pairs."
        if self.text.strip().lower().endswith(".gguf"):
            return "`localspec pairs add --target FILE --draft FILE` adds a pair of files that you have."
        return (
            f"No pair has all of {self.text!r} in its name, files, licence, state or fit. Backspace widens the filter."
        )


def action_text(entry: Entry | None) -> str:
    """The effect of Enter on a pair, with its cost; empty if it has none."""
    if entry is None or entry.action is PairAction.NOTHING:
        return ""
    if entry.action is PairAction.FETCH and entry.pair.missing_bytes:
        return f"{entry.action} {size(entry.pair.missing_bytes)}"
    if entry.action is PairAction.RESUME and (arrived := facts.arrived(entry.pair)):
        return f"{entry.action}, {arrived} are here"
    return str(entry.action)


def details(entry: Entry, cells: int, take: str = "", question: str = "") -> list[Line]:
    """The details of a pair, in lines of at most ``cells``: a question or the current state first.

    ``take`` is the key for its action; empty if there is none.
    """
    news = question or _news(entry, take)
    lines: list[Line] = [("", entry.pair.title, STRONG), *_wrapped("", news, cells, _look(entry))]
    for name, text in _ordered(entry):
        lines += _wrapped(name, text, cells)
    return lines


def _news(entry: Entry, take: str) -> str:
    """The state of its download, or the obstacle to its use, with the next step; empty if there is nothing to say."""
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
    if entry.action is PairAction.RESUME:
        kept = f"A download of it was stopped; {facts.arrived(pair)} are here"
        return f"{kept}, and {take} resumes." if take else f"{kept}."
    if entry.action is PairAction.FETCH and pair.fit is not None and pair.fit.colour == RED:
        return "It can be downloaded, but is too big to be used here."
    return ""


def _look(entry: Entry) -> str:
    failed = entry.download is not None and entry.download.stage is Stage.FAILED
    return ERROR if failed or entry.gone or entry.pair.state == MISSING else NEWS


def _ordered(entry: Entry) -> facts.Facts:
    """The facts, the most important for a choice first, without the command to get a pair: Enter does that."""
    groups: list[tuple[str, facts.Facts]] = []
    for name, text in facts.facts(entry.pair):
        if name:
            groups.append((name, []))
        groups[-1][1].append((name, text))
    groups = [group for group in groups if group[0] not in ("to get it", "arrived")]
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
