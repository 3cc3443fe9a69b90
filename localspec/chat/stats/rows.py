"""Rows of the screen of figures: groups of replies with the columns that fit, notices, and missed objectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from localspec.base.visible import shortened
from localspec.insight.stats.charts import bar
from localspec.insight.stats.digest import Digest
from localspec.insight.stats.drift_watch import WATCHED, DriftNotice
from localspec.insight.stats.objectives import Miss
from localspec.insight.stats.overview import Overview
from localspec.insight.stats.wording import GROUP_COLUMNS, OBJECTIVES, GroupColumn, replies_text, wanted
from localspec.store.timestamps import local_time

_BAR = GroupColumn("", lambda digest: bar(digest.acceptance or 0.0, 8).ljust(8))
_TABLE = [column for each in GROUP_COLUMNS for column in ((each, _BAR) if each.head == "ACCEPT" else (each,))]
_FIRST = ("ACCEPT", "REPLIES", "SPEED-UP", "", "LENGTH", "TTFT P95", "TOKENS/S P50", "VERIFY", "IGNORED", "TTFT P99")
"""Heads of columns, the most important first."""
_GAP = "  "
_LEAST_NAME, _MOST_NAME = 7, 28


@dataclass(frozen=True, slots=True)
class StatsRow:
    id: str
    text: str


def group_rows(groups: Mapping[str, Overview], head: str, width: int) -> tuple[str, list[StatsRow]]:
    """The heads of the columns, and a row for each group; its id is its name."""
    longest = max(map(len, (head, *groups)))
    columns, name_width = _fitting(longest, width)
    return (
        _line(head, [column.head.rjust(_room(column)) for column in columns], name_width, width),
        [
            StatsRow(name, _line(name, [_cell(column, overview.whole) for column in columns], name_width, width))
            for name, overview in groups.items()
        ],
    )


def _fitting(longest: int, width: int) -> tuple[list[GroupColumn], int]:
    """The columns that fit, in order, and the width of names."""
    name_width = min(max(longest, _LEAST_NAME), _MOST_NAME, max(_LEAST_NAME, width // 2))
    left = width - name_width
    chosen = set()
    for head in _FIRST:
        room = len(_GAP) + _room(next(column for column in _TABLE if column.head == head))
        if room > left:
            break
        left -= room
        chosen.add(head)
    return [column for column in _TABLE if column.head in chosen], name_width


def _room(column: GroupColumn) -> int:
    return 8 if column is _BAR else max(6, len(column.head))


def _cell(column: GroupColumn, digest: Digest) -> str:
    return column.text(digest).rjust(_room(column))


def _line(name: str, cells: Sequence[str], name_width: int, width: int) -> str:
    return _GAP.join([shortened(name, name_width).ljust(name_width), *cells])[:width].rstrip()


def notice_rows(notices: Sequence[DriftNotice], misses: Sequence[Miss], width: int) -> list[StatsRow]:
    """Notices and missed objectives, the latest first; an id is an index into notices followed by misses."""
    lines = [(local_time(notice.at), _fell(notice)) for notice in notices]
    lines += [(f"{miss.day}      ", _missed(miss)) for miss in misses]
    order = sorted(range(len(lines)), key=lambda place: lines[place][0].strip(), reverse=True)
    return [StatsRow(str(place), shortened(f"{lines[place][0]}  {lines[place][1]}", width)) for place in order]


def _fell(notice: DriftNotice) -> str:
    watched = WATCHED[notice.measure]
    return f"{notice.pair}: {watched.name} from {watched.written(notice.before)} to {watched.written(notice.since)}"


def _missed(miss: Miss) -> str:
    name, _, written = OBJECTIVES[miss.objective]
    return f"{miss.pair}: {name} {written(miss.was)}, wanted {wanted(miss)}"


def missed_text(miss: Miss) -> str:
    """A missed objective in a sentence."""
    name, _, written = OBJECTIVES[miss.objective]
    return (
        f"{miss.pair} missed an objective on {miss.day}: the {name} of {miss.replies_n:,} replies was "
        f"{written(miss.was)}; {wanted(miss)} is wanted."
    )


def progress_text(replies_n: int, *, reading: bool) -> str:
    """The number of replies, or of those read so far."""
    return f"reading, {replies_n:,} so far" if reading else replies_text(replies_n)
