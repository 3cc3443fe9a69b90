"""One pair as the list shows it: its state in a word, its row, and what Enter would do with it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from localspec.chat.pairs import download_words, facts
from localspec.chat.pairs.downloads import Download, Stage
from localspec.models.pairs.state import HERE, MISSING, NOT_HERE, PARTLY, WAITS
from localspec.models.pairs.suitability import AMBER, GREEN, RED
from localspec.runtime.figures import size

if TYPE_CHECKING:
    from localspec.models.pairs import PairDescription

IN_USE = "in use"
QUIET, TEXT = "quiet", "text"
"""How a part of a row is to look; or one of the colours of its fit."""

_SIZE_FROM, _ROOM_FROM = 66, 86
"""Cells from which a row has room for the size, and for what the need is held against."""
_STATE_CELLS, _SIZE_CELLS, _WORD_CELLS, _NEED_CELLS, _ROOM_CELLS = 8, 7, 7, 8, 11


_NOT_HERE = "not-here"
"""One word, so that a search for what is here does not find it."""
_STATE_WORDS = {
    HERE: "installed here",
    MISSING: f"installed {MISSING}",
    NOT_HERE: _NOT_HERE,
    PARTLY: f"{_NOT_HERE} {PARTLY}",
}
"""What a filter finds a state by."""


class Deed(StrEnum):
    """What can be done with a pair now."""

    USE = "use it"
    USE_TARGET = "use its target alone"
    FETCH = "download"
    RESUME = "resume"
    RETRY = "try again"
    NOTHING = ""


_WITH_DOWNLOAD = {Stage.STOPPED: Deed.RESUME, Stage.FAILED: Deed.RETRY}


@dataclass(frozen=True, slots=True)
class Entry:
    """A pair, its download, and whether it is the one being talked to."""

    pair: PairDescription
    download: Download | None = None
    in_use: bool = False

    @property
    def state(self) -> str:
        """In at most eight characters."""
        if self.in_use and not (self.gone and self.download is not None and self.download.active):
            return IN_USE
        if self.pair.available or self.download is None or self.download.stage is Stage.DONE:
            if self.deed is Deed.RESUME:
                return str(Stage.STOPPED)
            return "missing" if self.pair.state == MISSING else self.pair.state
        if self.download.active:
            return self.download.percent or "begins"
        return str(self.download.stage)

    @property
    def gone(self) -> bool:
        """Whether it is loaded, and files of it are no longer there to be loaded again."""
        pair = self.pair
        return self.in_use and (pair.state in (NOT_HERE, PARTLY) or (pair.state == WAITS and not pair.files[0].path))

    @property
    def deed(self) -> Deed:
        """What Enter does."""
        pair, download = self.pair, self.download
        if (self.in_use and not self.gone) or (download is not None and download.active) or pair.state == MISSING:
            return Deed.NOTHING
        if pair.state == WAITS:
            target = pair.files[0]
            if target.path is not None:
                return Deed.USE_TARGET
        if pair.available:
            return Deed.USE
        begun = Deed.RESUME if pair.arrived_bytes else Deed.FETCH
        return _WITH_DOWNLOAD.get(download.stage, begun) if download is not None else begun

    @property
    def only_waits(self) -> bool:
        """Whether nothing can be done with it until LocalSpec can run its drafter."""
        return self.pair.state == WAITS and not self.in_use and self.deed is not Deed.USE_TARGET

    @property
    def words(self) -> list[str]:
        """Everything a filter looks at, besides the pair's names."""
        word = self.pair.fit.word if self.pair.fit else ""
        marks = "recommended" if self.pair.recommended_here else ""
        state = {
            HERE: "installed here",
            MISSING: f"installed {MISSING}",
            NOT_HERE: _NOT_HERE,
            PARTLY: f"{_NOT_HERE} {PARTLY}",
        }
        now = _as_words(self.state)
        return f"{state.get(self.pair.state, self.pair.state)} {word} {marks} {now}".lower().split()

    def passes(self, text: str) -> bool:
        """Whether each word of a filter begins one of what the list shows of the pair, or is in its names."""
        return all(
            any(shown.startswith(word) for shown in self.words) or facts.mentions(self.pair, word)
            for word in _as_words(text.lower()).split()
        )


def _as_words(text: str) -> str:
    """Text for a filter to look at, "not here" as one word, as far as it is typed."""
    return re.sub(r"\bnot +(?=h)", "not-", text)


def row(entry: Entry, cells: int) -> list[tuple[str, str]]:
    """The row of a pair, as texts with their looks, ``cells`` wide: a name, and columns of fixed widths."""
    pair = entry.pair
    columns = _columns(entry, cells)
    name_cells = cells - 2 - sum(len(text) for text, _ in columns)
    name = pair.title if len(pair.title) <= name_cells else f"{pair.title[: name_cells - 1]}…"
    star = "* " if pair.recommended_here else "  "
    look = QUIET if pair.state in (MISSING, WAITS) else TEXT
    return [(star, TEXT), (f"{name:<{name_cells}}", look), *columns]


def _columns(entry: Entry, cells: int) -> list[tuple[str, str]]:
    pair, fit = entry.pair, entry.pair.fit
    parts = []
    if cells >= _SIZE_FROM:
        parts.append((f"  {size(pair.size_bytes):>{_SIZE_CELLS}}", QUIET))
    parts.append((f"  {entry.state:<{_STATE_CELLS}}", TEXT if entry.in_use or _moves(entry) else QUIET))
    if entry.download is not None and entry.download.active and not pair.available:
        room = _WORD_CELLS + 1 + _NEED_CELLS + (_ROOM_CELLS if cells >= _ROOM_FROM else 0)
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
    return parts


def _pace(download: Download, room: int) -> str:
    """How fast it comes and how long it takes, in as many words as there is room for."""
    if download.delay is not None:
        return "trying again"
    if download.progress is None:
        return "reading headers"
    whole = download_words.pace(download.progress)
    choices = (whole, whole.removesuffix(" left"), whole.rpartition(", ")[2])
    return next((text for text in choices if len(text) <= room), "")


def _moves(entry: Entry) -> bool:
    return entry.download is not None and entry.state != entry.pair.state
