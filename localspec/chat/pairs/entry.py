"""A pair in the list: its state in a word, its row, its details, and the action of Enter."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from localspec.base.visible import shortened
from localspec.chat.pairs import download_words, facts, hub_words
from localspec.chat.pairs.downloads import Download, Stage
from localspec.models.pairs.state import HERE, MISSING, NOT_HERE, PARTLY
from localspec.models.pairs.suitability import AMBER, GREEN, RED
from localspec.runtime.figures import size

if TYPE_CHECKING:
    from localspec.models.discovery.search import HubModel
    from localspec.models.pairs import PairDescription

IN_USE = "in use"
QUIET, TEXT = "quiet", "text"
"""The styles of parts of a row, besides the colours of its fit."""

_SPEED_FROM, _SIZE_FROM, _ROOM_FROM = 66, 86, 98
"""The widths from which a row has room for the speed, for the size beside it, and for the available memory."""
_STATE_CELLS, _SIZE_CELLS, _WORD_CELLS, _NEED_CELLS, _ROOM_CELLS, _SPEED_CELLS = 8, 7, 7, 8, 11, 8

_NOT_HERE = "not-here"
"""One word, so that the filter "here" does not match it."""
_STATE_WORDS = {
    HERE: "installed here",
    MISSING: f"installed {MISSING}",
    NOT_HERE: _NOT_HERE,
    PARTLY: f"{_NOT_HERE} {PARTLY}",
}
"""The words by which a filter matches a state."""

ERROR, STRONG, NEWS, FACT = "error", "strong", "news", ""
Line = tuple[str, str, str]
"""A name (or an empty one), a text, and the style; only a fact has its name in a column."""

_FIRST = ("note", "speed-up", "source", "recommended", "fit", "speed", "state", "memory", "licence")
_NAME_CELLS = 13


class PairAction(StrEnum):
    """The action of Enter on a pair."""

    USE = "use it"
    FETCH = "download"
    RESUME = "resume"
    RETRY = "try again"
    NOTHING = ""


_STOPPED = "stopped"
"""The state of a pair of which an interrupted download has left a part, and which is not in the queue."""
_WITH_DOWNLOAD = {Stage.PAUSED: PairAction.RESUME, Stage.FAILED: PairAction.RETRY}


@dataclass(frozen=True, slots=True)
class Entry:
    """A pair with its download; ``in_use`` if it is loaded."""

    pair: PairDescription
    download: Download | None = None
    in_use: bool = False

    @property
    def state(self) -> str:
        """The state in at most eight characters."""
        if self.in_use and not (self.gone and self.download is not None and self.download.active):
            return IN_USE
        if self.pair.available or self.download is None or self.download.stage is Stage.DONE:
            if self.action is PairAction.RESUME:
                return _STOPPED
            return "missing" if self.pair.state == MISSING else self.pair.state
        if self.download.active:
            return self.download.percent or "begins"
        return str(self.download.stage)

    @property
    def is_queued(self) -> bool:
        """True if its download is in the queue, also paused or failed."""
        return self.download is not None and self.download.stage is not Stage.DONE

    @property
    def gone(self) -> bool:
        """True if it is loaded, but its files are no longer on the disk."""
        return self.in_use and self.pair.state in (NOT_HERE, PARTLY)

    @property
    def action(self) -> PairAction:
        pair, download = self.pair, self.download
        if (self.in_use and not self.gone) or (download is not None and download.pending) or pair.state == MISSING:
            return PairAction.NOTHING
        if pair.available:
            return PairAction.USE
        begun = PairAction.RESUME if pair.arrived_bytes else PairAction.FETCH
        return _WITH_DOWNLOAD.get(download.stage, begun) if download is not None else begun

    @property
    def words(self) -> list[str]:
        """The words that a filter matches, besides the pair's names."""
        word = self.pair.fit.word if self.pair.fit else ""
        marks = "recommended" if self.pair.recommended_here else ""
        now = _as_words(self.state)
        return f"{_STATE_WORDS.get(self.pair.state, self.pair.state)} {word} {marks} {now}".lower().split()

    def passes(self, text: str) -> bool:
        """True if each word of a filter is a prefix of one of ``words``, or occurs in the pair's names."""
        return all(
            any(shown.startswith(word) for shown in self.words) or facts.mentions(self.pair, word)
            for word in _as_words(text.lower()).split()
        )


def _as_words(text: str) -> str:
    """Text for filtering, with "not here" as one word, also while it is typed."""
    return re.sub(r"\bnot +(?=h)", "not-", text)


def row(entry: Entry, cells: int) -> list[tuple[str, str]]:
    """The row of a pair, ``cells`` wide, as texts with styles: a name, and columns of fixed widths."""
    pair = entry.pair
    columns = _columns(entry, cells)
    name_cells = cells - 2 - sum(len(text) for text, _ in columns)
    name = shortened(pair.title, name_cells)
    star = "* " if pair.recommended_here else "  "
    look = QUIET if pair.state == MISSING else TEXT
    return [(star, TEXT), (f"{name:<{name_cells}}", look), *columns]


def _columns(entry: Entry, cells: int) -> list[tuple[str, str]]:
    pair, fit = entry.pair, entry.pair.fit
    parts = []
    if cells >= _SIZE_FROM:
        parts.append((f"  {size(pair.size_bytes):>{_SIZE_CELLS}}", QUIET))
    parts.append((f"  {entry.state:<{_STATE_CELLS}}", TEXT if entry.in_use or _moves(entry) else QUIET))
    if entry.download is not None and entry.download.active and not pair.available:
        room = _WORD_CELLS + 1 + _NEED_CELLS + (_ROOM_CELLS if cells >= _ROOM_FROM else 0)
        room += 2 + _SPEED_CELLS if cells >= _SPEED_FROM else 0
        return [*parts, (f"  {_pace(entry.download, room):<{room}}", TEXT)]
    if fit is None:
        parts.append((f"  {'':<{_WORD_CELLS + 1 + _NEED_CELLS}}", QUIET))
        fit_room = ""
    else:
        look = fit.colour if fit.colour in (GREEN, AMBER, RED) else QUIET
        parts.append((f"  {fit.word:<{_WORD_CELLS}}", look))
        parts.append((f" {facts.need(pair):>{_NEED_CELLS}}", QUIET))
        fit_room = f" of {size(fit.room_bytes)}" if fit.room_bytes is not None else ""
    if cells >= _ROOM_FROM:
        parts.append((f"{fit_room:<{_ROOM_CELLS}}", QUIET))
    if cells >= _SPEED_FROM:
        pace = facts.pace(pair)
        parts.append((f"  {f'{pace}/s' if pace else '':>{_SPEED_CELLS}}", QUIET))
    return parts


def _pace(download: Download, room: int) -> str:
    """The speed and the time left of a download, shortened to fit."""
    if download.delay is not None:
        return "trying again"
    if download.progress is None:
        return "reading headers"
    whole = download_words.pace(download.progress)
    choices = (whole, whole.removesuffix(" left"), whole.rpartition(", ")[2])
    return next((text for text in choices if len(text) <= room), "")


def _moves(entry: Entry) -> bool:
    return entry.download is not None and entry.state != entry.pair.state


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
    return [("", entry.pair.title, STRONG), *wrapped("", news, cells, _look(entry)), *in_lines(_ordered(entry), cells)]


def model_details(model: HubModel, cells: int) -> list[Line]:
    """All that the search says of a repository, in lines of at most ``cells``."""
    return [("", model.name, STRONG), *in_lines(hub_words.model_facts(model), cells)]


def _news(entry: Entry, take: str) -> str:
    """The state of its download, or the obstacle to its use, with the next step; empty if there is nothing to say."""
    download, pair = entry.download, entry.pair
    if download is not None and not pair.available and download.stage is not Stage.DONE:
        if download.error is not None:
            return f"{download.error} {take} tries again." if take else str(download.error)
        if download.stage is Stage.WAITING:
            return f"{download.line.capitalize()}: it begins when those before it are done."
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


def in_lines(known: facts.Facts, cells: int) -> Iterator[Line]:
    """Facts in lines of at most ``cells``."""
    return (line for name, text in known for line in wrapped(name, text, cells))


def wrapped(name: str, text: str, cells: int, look: str = FACT) -> Sequence[Line]:
    """A text in lines of at most ``cells``, the first of them with its name."""
    room = max(20, cells - (_NAME_CELLS if look == FACT else 0))
    parts = textwrap.wrap(text, room, break_on_hyphens=False)
    return [(name if not n else "", part, look) for n, part in enumerate(parts)]


def line_text(line: Line) -> tuple[str, str]:
    """A line's name in its column, and its text."""
    name, text, look = line
    return (f"{name:<{_NAME_CELLS}}" if look == FACT else ""), text
