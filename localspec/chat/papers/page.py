"""Saved web pages, through Beautiful Soup and markdownify: headings, lists, tables and text, as Markdown."""

from __future__ import annotations

from pathlib import Path

from localspec.chat.papers.kinds import Parts

_UNSEEN = ("script", "style", "noscript", "template", "svg", "head")


def read(path: Path) -> Parts:
    """The text of the page; links and pictures by their words alone."""
    return Parts("", 1, map(_text, (path,)))


def _text(path: Path) -> str:
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(path.read_bytes(), "html.parser")
    for element in soup(_UNSEEN):
        element.decompose()
    try:
        return str(MarkdownConverter(heading_style="ATX", strip=["a", "img"]).convert_soup(soup))
    except RecursionError:  # tags nested by the thousand
        return soup.get_text("\n", strip=True)
