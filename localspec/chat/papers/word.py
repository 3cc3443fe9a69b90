"""Word documents (WordprocessingML, ECMA-376 part 1): headings, paragraphs and tables, with the standard library."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from localspec.base.errors import InputError
from localspec.chat.papers.kinds import Parts, encrypted

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SIGNS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_UNREAD = (f"{_W}pPr", "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback")
"""Formats, with tab stops that are no tabs; and text boxes as older versions of Word read them, a second time."""
_HEADING = re.compile(r"heading ?([1-6])", re.IGNORECASE)


class _NoEntities(ElementTree.TreeBuilder):
    """A builder of trees that refuses declarations of entities, of which bombs are made and no document has any."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        """Called by the parser before the first declaration."""
        raise InputError(
            "{name} declares XML entities, as no Word document does.", "It may be an attack: do not open it."
        )


def read(path: Path) -> Parts:
    """The text of the document's body."""
    return Parts("", 1, map(_text, (path,)))


def _text(path: Path) -> str:
    parser = ElementTree.XMLParser(target=_NoEntities())  # noqa: S314 -- in a process with limits
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("word/document.xml")
        if info.flag_bits & 1:
            raise encrypted()
        with archive.open(info) as stream:
            root = ElementTree.parse(stream, parser).getroot()  # noqa: S314
    return "\n".join(_block(block) for block in root.iterfind(f"{_W}body/*"))


def _block(block: Element) -> str:
    """A paragraph, or the rows of a table."""
    if block.tag == f"{_W}tbl":
        return "".join(f"| {' | '.join(map(_cell, row.iterfind(f'{_W}tc')))} |\n" for row in block.iterfind(f"{_W}tr"))
    if block.tag == f"{_W}sdt":  # a table of contents, or a field to fill in
        return "\n".join(map(_block, block.iterfind(f"{_W}sdtContent/*")))
    return _paragraph(block) + "\n" if block.tag == f"{_W}p" else ""


def _cell(cell: Element) -> str:
    return " ".join("".join(_texts(cell)).split())


def _paragraph(paragraph: Element) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    heading = _HEADING.fullmatch(style.get(f"{_W}val", "")) if style is not None else None
    in_list = paragraph.find(f"{_W}pPr/{_W}numPr") is not None
    text = "".join(_texts(paragraph))
    return f"{'#' * int(heading[1])} {text}" if heading else f"- {text}" if in_list else text


def _texts(element: Element) -> Iterator[str]:
    """The text inside an element; paragraphs in it, as those of a text box, are lines of their own."""
    for part in element:
        if part.tag == f"{_W}p":
            yield f"\n{_paragraph(part)}\n"
        elif part.tag == f"{_W}t":
            yield part.text or ""
        elif part.tag not in _UNREAD:
            yield _SIGNS.get(part.tag, "")
            yield from _texts(part)
