"""PDF, through pypdf: pure Python, so that no native code reads a stranger's file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from localspec.chat.papers.parts import Parts, encrypted

if TYPE_CHECKING:
    from pypdf import PageObject


def read(path: Path) -> Parts:
    """The pages, each under a line with its number, so that the model can name it."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    reader = PdfReader(path)
    try:
        if reader.is_encrypted and not reader.decrypt(""):
            raise encrypted()
    except (DependencyError, NotImplementedError):  # a cipher of another library
        raise encrypted() from None
    return Parts("page", len(reader.pages), _pages(reader.pages))


def _pages(pages: Iterable[PageObject]) -> Iterator[str]:
    for number, page in enumerate(pages, 1):
        text = page.extract_text().strip()
        yield f"[Page {number}]\n{text}\n\n" if text else ""
