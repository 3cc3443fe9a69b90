"""Excel workbooks, through openpyxl, which reads a sheet row by row: each sheet as comma-separated values."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from localspec.chat.papers.parts import Parts

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook


def read(path: Path) -> Parts:
    """The sheets, each under a heading with its name; formulas as the values that were last computed."""
    from openpyxl import load_workbook

    workbook = load_workbook(path, read_only=True, data_only=True, keep_links=False)
    return Parts("sheet", len(workbook.worksheets), _sheets(workbook))


def _sheets(workbook: Workbook) -> Iterator[str]:
    for sheet in workbook.worksheets:
        sheet.reset_dimensions()  # the size that the file claims may be a million empty rows
        out = io.StringIO()
        rows = csv.writer(out, lineterminator="\n")
        for row in sheet.iter_rows(values_only=True):
            values = ["" if value is None else value for value in row]
            while values and values[-1] == "":
                values.pop()
            if values:
                rows.writerow(values)
        yield f"## Sheet {sheet.title}\n{out.getvalue()}\n"
