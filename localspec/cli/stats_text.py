"""Statistics of replies as text, in 80 columns and without colour."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from localspec.base.amounts import number_of
from localspec.base.terminal_stream import is_utf8
from localspec.cli.tables import Column, columns, fitted, paragraph, width
from localspec.insight.stats.charts import bar
from localspec.insight.stats.digest import Digest
from localspec.insight.stats.objectives import Miss, Objectives
from localspec.insight.stats.overview import Overview
from localspec.insight.stats.page import Sheet, page
from localspec.insight.stats.wording import GROUP_COLUMNS, OBJECTIVES, GroupColumn, basis, replies_text, wanted
from localspec.store.timestamps import local_time

if TYPE_CHECKING:
    from localspec.insight.stats.drift_watch import DriftNotice

_LEAST_WIDTH = 40


def whole_lines(overview: Overview) -> Iterator[str]:
    """The text for all replies: a table, the histogram of acceptance, and the days."""
    yield paragraph(basis(overview))
    yield ""
    sheet = Sheet(max(_LEAST_WIDTH, width()), not is_utf8(sys.stdout))
    yield from (text for text, _ in page(overview, sheet))


def group_lines(overview: Overview) -> Iterator[str]:
    """A line for each group."""
    yield paragraph(basis(overview))
    yield ""
    yield from (line.rstrip() for line in fitted(_columns(overview.by or ""), overview.groups()))
    yield ""
    yield paragraph(
        "ACCEPT and LENGTH (tokens a round) are of all rounds together; SPEED-UP is the median of replies; "
        "TTFT is the time to the first token. `--json` has all quantiles of every group."
    )


_Group = tuple[str, Digest]


def _columns(by: str) -> list[Column]:
    chart = Column("", lambda group: bar(group[1].acceptance or 0.0, 8, ascii_only=not is_utf8(sys.stdout)).ljust(8))
    table = [Column(by.upper(), lambda group: group[0])]
    for column in GROUP_COLUMNS:
        table.append(Column(column.head, _cell(column), optional=column.optional))
        table += [chart] if column.head == "ACCEPT" else []
    return table


def _cell(column: GroupColumn) -> Callable[[_Group], str]:
    room = max(6, len(column.head))
    return lambda group: column.text(group[1]).rjust(room)


def watch_lines(
    notices: Sequence[DriftNotice], misses: Sequence[Miss], objectives: Objectives, replies_n: int
) -> Iterator[str]:
    """The drift notices and the missed objectives."""
    if not notices:
        yield paragraph(f"No pair has become worse, as far as {replies_text(replies_n)} tell.")
    for notice in notices:
        yield paragraph(f"{local_time(notice.at)}  {notice.text}")
    yield ""
    if not objectives.any:
        yield paragraph(
            "No objectives are set. --ttft-p95-s and --min-speedup set them once, "
            "the settings ttft_p95_s and min_speedup for good."
        )
    elif not misses:
        yield "Every objective was met on every day."
    else:
        yield f"Objectives were missed on {number_of(len({miss.day for miss in misses}), 'day')}."
        heads = ("DAY", "OBJECTIVE", "WANTED", "WAS", "REPLIES", "PAIR")
        yield from columns([heads, *map(_miss_row, misses)])


def _miss_row(miss: Miss) -> tuple[str, ...]:
    name, _, written = OBJECTIVES[miss.objective]
    return miss.day, name, wanted(miss), written(miss.was), str(miss.replies_n), miss.pair


def nothing(*, narrowed: bool) -> str:
    """The text without any figures to show."""
    if narrowed:
        return paragraph("No replies match. Without --pair and --since all replies count.")
    return paragraph(
        "There are no figures yet. `localspec` opens the chat; each of its replies is kept with its figures, unless "
        "the setting record_figures is no."
    )
