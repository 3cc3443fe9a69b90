"""Links that the terminal itself knows of (OSC 8), so that it can open and copy them in its own way."""

from __future__ import annotations

import re
from dataclasses import replace

from textual.content import Content, Span
from textual.style import Style
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownBlock, MarkdownFence

from localspec.chat.markdown import can_be_opened

_CLICK = re.compile(r"link\((?P<quote>['\"])(?P<url>.*)(?P=quote)\)")


def link_up(markdown: Markdown) -> None:
    """Give every link of a document that is drawn its address."""
    for block in markdown.query(MarkdownBlock):
        content = block._content
        if not isinstance(block, MarkdownFence) and any(_url(span) for span in content.spans):
            block.set_content(linked(content))


def linked(content: Content) -> Content:
    """The same with addresses for the terminal, where a click leads to one."""
    return Content(content.plain, [_with_address(span) for span in content.spans])


def _with_address(span: Span) -> Span:
    url = _url(span)
    return Span(span.start, span.end, replace(span.style, link=url)) if url and isinstance(span.style, Style) else span


def _url(span: Span) -> str:
    """The address that a click opens; empty if it opens none."""
    click = span.style.meta.get("@click", "") if isinstance(span.style, Style) else ""
    match = _CLICK.fullmatch(click) if isinstance(click, str) else None
    return match["url"] if match is not None and can_be_opened(match["url"]) else ""
