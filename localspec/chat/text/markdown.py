"""The Markdown of replies, in one dialect for the screen and for what is picked out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


def markdown_parser() -> MarkdownIt:
    """A new parser of GitHub's dialect, in which HTML is text, as the model wrote it."""
    from markdown_it import MarkdownIt

    return MarkdownIt("gfm-like", {"html": False})
