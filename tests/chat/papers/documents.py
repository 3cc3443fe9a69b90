"""Small papers of each kind, written by the test: PDF by hand, Word as the zip it is, Excel by the library."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def pdf(pages: Sequence[str]) -> bytes:
    """A PDF with one line of text a page; an empty one is a page without text."""
    return pdf_of_lines([[text] if text else [] for text in pages])


def pdf_of_lines(pages: Sequence[Sequence[str]], show: Callable[[str], str] = "({}) Tj".format) -> bytes:
    """A PDF with these lines on its pages, each shown by the operators that ``show`` makes of it."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, text in enumerate(pages):
        shown = "".join(f"BT /F1 12 Tf 72 {720 - 14 * row} Td {show(line)} ET\n" for row, line in enumerate(text))
        page = "/Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
        objects += [
            f"<< {page} /Contents {5 + 2 * n} 0 R >>",
            f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream",
        ]
    return pdf_of_objects([content.encode("latin-1") for content in objects])


def pdf_of_objects(objects: Sequence[bytes]) -> bytes:
    """A PDF with these objects, numbered from 1, the first of which is its catalogue."""
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(out)}\n"
    )
    return out + f"{end}%%EOF\n".encode("ascii")


def word(body: str, declared: str = "") -> bytes:
    """A Word document with this body, after what the XML declares."""
    return archive({"word/document.xml": f"{declared}<w:document {_W}><w:body>{body}</w:body></w:document>"})


def paragraph(text: str, style: str = "") -> str:
    kind = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{kind}<w:r><w:t>{text}</w:t></w:r></w:p>"


def table(*rows: Sequence[str]) -> str:
    cells = ("".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def archive(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return out.getvalue()


def workbook(path: Path, sheets: dict[str, Sequence[Sequence[object]]]) -> None:
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    book.save(path)


def notebook() -> str:
    code = {
        "cell_type": "code",
        "source": ["x = 6 * 7\n", "x"],
        "outputs": [{"output_type": "execute_result", "data": {"text/plain": ["42"], "image/png": "AAAA"}}],
    }
    return json.dumps({"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "# Six times seven"}, code]})
