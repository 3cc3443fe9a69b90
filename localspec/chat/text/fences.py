"""Blocks of code in a reply, as they are copied."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from localspec.chat.text.markdown import markdown_parser

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


def code_blocks(markdown: str) -> list[str]:
    r"""The text of each block of code, in lists and quotations, too; one that was not closed goes to the end.

    >>> code_blocks("1. Do this:\n\n    ```sh\n    ls\n    ```\n\nThen that.")
    ['ls\n']
    """
    return list(_blocks(markdown))


@lru_cache(maxsize=256)
def _blocks(markdown: str) -> tuple[str, ...]:
    """All replies of a conversation are asked for at each step from block to block."""
    found = (token.content for token in _parser().parse(markdown) if token.type in ("fence", "code_block"))
    return tuple(text if text.endswith("\n") else f"{text}\n" for text in found)


@cache
def _parser() -> MarkdownIt:
    """A parser of blocks alone."""
    parser = markdown_parser()
    parser.core.ruler.disable(["inline", "linkify"])
    return parser
