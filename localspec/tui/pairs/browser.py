"""The list of pairs as the reader has it: what is typed into the filter, and which pair is highlighted."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from localspec import pair_facts
from localspec.figures import size
from localspec.pairs.state import MISSING, WAITS
from localspec.pairs.suitability import RED
from localspec.tui.pairs.downloads import Stage
from localspec.tui.pairs.entry import Deed, Entry
from localspec.tui.pairs.shelf import Shelf

ERROR, STRONG, NEWS, FACT = "error", "strong", "news", ""
Line = tuple[str, str, str]
"""A name or none, a text, and what it is; only a fact has its text in a column of its own."""

_FIRST = ("note", "speed-up", "source", "recommended", "fit", "state", "memory", "licence")
_NAME_CELLS = 13


class Browser:
    """Pure; ``shelf`` says what there is."""

    def __init__(self, shelf: Shelf, in_use: str | None = None, marked: str | None = None) -> None:
        self.text = ""
        """The filter."""
        self.in_use = in_use
        self._shelf = shelf
        self._marked = marked

    @property
    def entries(self) -> list[Entry]:
        """Those that pass the filter, in the catalogue's order."""
        downloads = self._shelf.downloads
        everything = [Entry(pair, downloads.get(pair.id), pair.id == self.in_use) for pair in self._shelf.pairs]
        return [entry for entry in everything if entry.passes(self.text)]

    @property
    def marked(self) -> Entry | None:
        """The one that is highlighted: the one that was, else the first that passes; None if none does."""
        entries = self.entries
        return next((entry for entry in entries if entry.pair.id == self._marked), entries[0] if entries else None)

    def mark(self, pair_id: str) -> None:
        self._marked = pair_id

    @property
    def heading(self) -> str:
        """How many there are, and what the star means."""
        shown_n, all_n = len(self.entries), len(self._shelf.pairs)
        if not all_n:
            return ""
        counted = f"{all_n} pairs" if shown_n == all_n else f"{shown_n} of {all_n} pairs"
        if not self._shelf.judged:
            return f"{counted}, measuring what fits"
        return f"{counted}, * recommended for this machine"

    @property
    def empty(self) -> str:
        """Why the list is empty."""
        if self._shelf.problem is not None:
            return str(self._shelf.problem)
        if not self._shelf.pairs:
            return "Reading the list of pairs."
        return (
            f"No pair has all of {self.text!r} in its name, files, licence, state or fit. Backspace widens the filter."
        )


def deed_words(entry: Entry | None) -> str:
    """What Enter does with a pair, with what it costs; empty if nothing."""
    if entry is None or entry.deed is Deed.NOTHING:
        return ""
    if entry.deed is Deed.FETCH and entry.pair.missing_bytes:
        return f"{entry.deed} {size(entry.pair.missing_bytes)}"
    if entry.deed is Deed.RESUME and (arrived := pair_facts.arrived(entry.pair)):
        return f"{entry.deed}, {arrived} are here"
    return str(entry.deed)


def details(entry: Entry, cells: int, take: str = "") -> list[Line]:
    """All that is known of a pair, in lines of at most ``cells``: what happens now first.

    ``take`` is the key that does with it what can be done; empty if there is none.
    """
    lines: list[Line] = [("", entry.pair.title, STRONG), *_wrapped("", _news(entry, take), cells, _look(entry))]
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
        kept = f"A download of it was stopped; {pair_facts.arrived(pair)} are here"
        return f"{kept}, and {take} resumes." if take else f"{kept}."
    if entry.deed is Deed.FETCH and pair.fit is not None and pair.fit.colour == RED:
        return "It can be downloaded, but is too big to be used here."
    return ""


def _look(entry: Entry) -> str:
    failed = entry.download is not None and entry.download.stage is Stage.FAILED
    return ERROR if failed or entry.gone or entry.pair.state == MISSING else NEWS


def _ordered(entry: Entry) -> pair_facts.Facts:
    """The facts, those that a choice depends on first; how to get a pair is Enter's to do here."""
    groups: list[tuple[str, pair_facts.Facts]] = []
    for name, text in pair_facts.facts(entry.pair):
        if name:
            groups.append((name, []))
        groups[-1][1].append((name, text))
    left_out = {"to get it", "arrived"} if entry.pair.state != WAITS else set()
    groups = [group for group in groups if group[0] not in left_out]
    said = f"Recommended: {entry.pair.id}, "
    groups.sort(key=lambda group: _FIRST.index(group[0]) if group[0] in _FIRST else len(_FIRST))
    return [(name, text.removeprefix(said)) for _, facts in groups for name, text in facts]


def _wrapped(name: str, text: str, cells: int, look: str = FACT) -> Sequence[Line]:
    room = max(20, cells - (_NAME_CELLS if look == FACT else 0))
    parts = textwrap.wrap(text, room, break_on_hyphens=False)
    return [(name if not n else "", part, look) for n, part in enumerate(parts)]


def line_text(line: Line) -> tuple[str, str]:
    """A line's name in its column, and its text."""
    name, text, look = line
    return (f"{name:<{_NAME_CELLS}}" if look == FACT else ""), text
