"""The Markdown of replies, in one dialect for the screen and for what is picked out of them: code blocks and links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_SCHEMES = ("https://", "http://", "mailto:")


@dataclass(frozen=True, slots=True)
class Link:
    text: str
    url: str


def markdown_parser() -> MarkdownIt:
    """A new parser of GitHub's dialect, in which HTML is text, as the model wrote it."""
    from markdown_it import MarkdownIt

    return MarkdownIt("gfm-like", {"html": False})


def code_blocks(markdown: str) -> list[str]:
    r"""The text of each block of code, in lists and quotations, too; one that was not closed goes to the end.

    >>> code_blocks("1. Do this:\n\n    ```sh\n    ls\n    ```\n\nThen that.")
    ['ls\n']
    """
    return list(_blocks(markdown))


@lru_cache(maxsize=256)
def _blocks(markdown: str) -> tuple[str, ...]:
    """All replies of a conversation are asked for at each step from block to block."""
    found = (token.content for token in _block_parser().parse(markdown) if token.type in ("fence", "code_block"))
    return tuple(text if text.endswith("\n") else f"{text}\n" for text in found)


@cache
def _block_parser() -> MarkdownIt:
    """A parser of blocks alone."""
    parser = markdown_parser()
    parser.core.ruler.disable(["inline", "linkify"])
    return parser


def can_be_opened(url: str) -> bool:
    """True for http, https and mailto. A model may write anything, so nothing else is opened."""
    return url.lower().startswith(_SCHEMES) and url.isprintable() and " " not in url


def links_of(markdown: str) -> list[Link]:
    """The links that can be opened, in order, each address once; those inside code are left out.

    >>> [link.url for link in links_of("See [the page](https://a.org/x) or https://b.org.")]
    ['https://a.org/x', 'https://b.org']
    """
    found: dict[str, Link] = {}
    for token in _link_parser().parse(markdown):
        for link in _links(token.children or []):
            if can_be_opened(link.url):
                found.setdefault(link.url, link)
    return list(found.values())


def _links(tokens: list[Token]) -> Iterator[Link]:
    url, texts = "", [""]
    for token in tokens:
        match token.type:
            case "link_open":
                url, texts = str(token.attrs.get("href", "")), []
            case "link_close":
                yield Link("".join(texts).strip() or url, url)
            case _:
                texts.append(token.content)


_link_parser = cache(markdown_parser)
