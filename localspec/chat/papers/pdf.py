"""PDF, through pypdf: pure Python, so that no native code reads an untrusted file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING

from localspec.chat.papers.kinds import Parts, encrypted

if TYPE_CHECKING:
    from pypdf import PageObject
    from pypdf.generic import DictionaryObject


_MOST_FONTS = 500
"""The most fonts that are kept: of the pages around."""
MOST_READERS = 2
"""Each may take as much memory as a paper may."""
PAGES_A_READER = 20


def read(path: Path) -> Parts:
    """The pages, each under a line with its number, so that the model can name it."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    _make_fonts_once()
    reader = PdfReader(path)
    try:
        if reader.is_encrypted and not reader.decrypt(""):
            raise encrypted()
    except (DependencyError, NotImplementedError):  # a cipher of another library
        raise encrypted() from None
    return Parts("page", len(reader.pages), _pages(reader.pages))


def _make_fonts_once() -> None:
    """Have pypdf keep the fonts that it made.

    pypdf 7.1 makes each anew for every page, which takes a fifth of the time of some papers.
    """
    from pypdf.generic._font import Font

    make: Callable[[DictionaryObject], Font] = vars(Font)["from_font_resource"].__get__(None, Font)
    made: dict[int, tuple[DictionaryObject, Font]] = {}

    def kept(resource: DictionaryObject) -> Font:
        found = made.get(id(resource))
        if found is None:
            if len(made) >= _MOST_FONTS:
                made.clear()
            found = made[id(resource)] = resource, make(resource)  # which keeps the resource, and so its id
        return found[1]

    Font.from_font_resource = kept  # type: ignore[method-assign, assignment]


def _pages(pages: Sequence[PageObject]) -> Iterator[str]:
    """The text of each page; of a long paper two pages at a time, by copies of this process."""
    readers_n = min(os.cpu_count() or 1, MOST_READERS, len(pages) // PAGES_A_READER)
    if readers_n < 2:
        yield from (_page(number, page) for number, page in enumerate(pages, 1))
        return
    with ExitStack() as opened:
        streams = [opened.enter_context(_read_every(pages, first, readers_n)) for first in range(readers_n)]
        for at in range(len(pages)):
            answer = json.loads(streams[at % readers_n].readline() or "null")
            if not isinstance(answer, str):
                raise ValueError(f"page {at + 1}: {answer[0] if answer else 'it takes too much memory or time'}")
            yield answer


def _read_every(pages: Sequence[PageObject], first: int, step: int) -> IO[str]:
    """A stream of the pages from ``first`` on, each the ``step``-th after the one before, read by a copy.

    A line of JSON each: its text, or a list with the reason why it cannot be read.
    """
    read_end, write_end = os.pipe()
    if os.fork():
        os.close(write_end)
        return os.fdopen(read_end, encoding="ascii")
    try:
        os.close(read_end)
        with os.fdopen(write_end, "w", encoding="ascii") as out:
            for at in range(first, len(pages), step):
                out.write(json.dumps(_text_or_reason(pages[at], at + 1)) + "\n")
                out.flush()
    finally:
        os._exit(0)  # nothing of the original goes on in its copy


def _text_or_reason(page: PageObject, number: int) -> str | list[str]:
    try:
        return _page(number, page)
    except Exception as error:  # noqa: BLE001 -- a library's, about a file that anybody may have made
        return [str(error)[:200] or type(error).__name__]


def _page(number: int, page: PageObject) -> str:
    text = page.extract_text().strip()
    return f"[Page {number}]\n{text}\n\n" if text else ""
