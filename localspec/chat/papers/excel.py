"""Excel workbooks, through openpyxl, which reads a sheet row by row: each sheet as comma-separated values."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from localspec.chat.papers.kinds import Parts

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook


PIECE_CHARS = 64_000
"""The longest piece of a sheet, which may have a million rows."""


def read(path: Path) -> Parts:
    """The sheets, each under a heading with its name; formulas as the values that were last computed."""
    from openpyxl import load_workbook

    workbook = load_workbook(path, read_only=True, data_only=True, keep_links=False)
    return Parts("sheet", len(workbook.worksheets), _sheets(workbook))


def _sheets(workbook: Workbook) -> Iterator[Iterator[str]]:
    for sheet in workbook.worksheets:
        sheet.reset_dimensions()  # the size that the file claims may be a million empty rows
        yield _pieces(sheet.title, sheet.iter_rows(values_only=True))


def _pieces(title: str, rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"## Sheet {title}\n"
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        values = ["" if value is None else value for value in row]
        while values and values[-1] == "":
            values.pop()
        if values:
            writer.writerow(values)
        if out.tell() > PIECE_CHARS:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield f"{out.getvalue()}\n"
