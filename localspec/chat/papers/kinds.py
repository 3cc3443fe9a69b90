"""The kinds of papers, known by their content first, as a name may be wrong; and the parts that they are read as."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from localspec.base.errors import InputError

SOURCE_BYTES = 16_000
"""A smaller web page is attached as its source: it was probably written by hand."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of the old files of Word and Excel, and of new ones under a password (MS-CFB)."""


class PaperKind(StrEnum):
    """A kind of paper, as a sentence names it."""

    PDF = "a PDF"
    WORD = "a Word document"
    EXCEL = "an Excel workbook"
    NOTEBOOK = "a notebook"
    PAGE = "a web page"


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a paper, read as they are asked for; reading may raise whatever a library does."""

    unit: str
    """The word for one part; empty where a paper has but one."""
    total_n: int
    texts: Iterator[str | Iterator[str]]
    """Each the text of a part, or the pieces of one that is long."""


def encrypted() -> InputError:
    """The error for a paper under a password, or in a cipher that cannot be read."""
    return InputError("{name} is encrypted.", "Save a copy without a password, and attach that.")


def kind_of(path: Path, beginning: bytes) -> PaperKind | None:
    """The kind of the file at ``path`` with these first bytes; None if it is to be read as plain text.

    Raises InputError for a file of an office program that cannot be read here, OSError.
    """
    suffix = path.suffix.lower()
    if b"%PDF-" in beginning[:1024] and (suffix == ".pdf" or beginning.startswith(b"%PDF-")):
        return PaperKind.PDF
    if beginning.startswith(b"PK\x03\x04"):
        return _packed(path)
    if beginning.startswith(_OLE):
        raise InputError(
            f"{path.name} is in the format of Office 97, or has a password.",
            "Save it as .docx, .xlsx or PDF without one.",
        )
    if suffix == ".ipynb":
        return PaperKind.NOTEBOOK
    if suffix in (".html", ".htm", ".xhtml") and path.stat().st_size > SOURCE_BYTES:
        return PaperKind.PAGE
    return None


def _packed(path: Path) -> PaperKind | None:
    """The kind of an archive, by the files in it (Office Open XML, ECMA-376)."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        raise InputError(f"{path.name} is a damaged archive.", "Save or download it again.") from None
    if "word/document.xml" in names:
        return PaperKind.WORD
    return PaperKind.EXCEL if "xl/workbook.xml" in names else None
