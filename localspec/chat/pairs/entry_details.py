"""The details of a row in the list of pairs, in lines, and the effect of Enter on it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from localspec.chat.pairs import facts, hub_words
from localspec.chat.pairs.downloads import Stage
from localspec.chat.pairs.entry import Entry, PairAction
from localspec.models.pairs.state import MISSING
from localspec.models.pairs.suitability import RED
from localspec.runtime.figures import size

if TYPE_CHECKING:
    from localspec.models.discovery.search import HubModel

ERROR, STRONG, NEWS, FACT = "error", "strong", "news", ""
Line = tuple[str, str, str]
"""A name (or an empty one), a text, and the style; only a fact has its name in a column."""

_FIRST = ("note", "speed-up", "source", "recommended", "fit", "speed", "state", "memory", "licence")
_NAME_CELLS = 13


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
    lines: list[Line] = [("", entry.pair.title, STRONG), *wrapped("", news, cells, _look(entry))]
    for name, text in _ordered(entry):
        lines += wrapped(name, text, cells)
    return lines


def model_details(model: HubModel, cells: int) -> list[Line]:
    """All that the search says of a repository, in lines of at most ``cells``."""
    lines: list[Line] = [("", model.name, STRONG)]
    for name, text in hub_words.model_facts(model):
        lines += wrapped(name, text, cells)
    return lines


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


def wrapped(name: str, text: str, cells: int, look: str = FACT) -> Sequence[Line]:
    """A text in lines of at most ``cells``, the first of them with its name."""
    room = max(20, cells - (_NAME_CELLS if look == FACT else 0))
    parts = textwrap.wrap(text, room, break_on_hyphens=False)
    return [(name if not n else "", part, look) for n, part in enumerate(parts)]


def line_text(line: Line) -> tuple[str, str]:
    """A line's name in its column, and its text."""
    name, text, look = line
    return (f"{name:<{_NAME_CELLS}}" if look == FACT else ""), text
