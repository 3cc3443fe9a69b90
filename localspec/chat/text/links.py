"""Links in the Markdown of a reply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from localspec.chat.text.markdown import markdown_parser

if TYPE_CHECKING:
    from markdown_it.token import Token

_SCHEMES = ("https://", "http://", "mailto:")


@dataclass(frozen=True, slots=True)
class Link:
    """A link and its text."""

    text: str
    url: str


def can_be_opened(url: str) -> bool:
    """True for http, https and mailto. A model may write anything, so nothing else is opened."""
    return url.lower().startswith(_SCHEMES) and url.isprintable() and " " not in url


def links_of(markdown: str) -> list[Link]:
    """The links that can be opened, in order, each address once; those inside code are left out.

    >>> [link.url for link in links_of("See [the page](https://a.org/x) or https://b.org.")]
    ['https://a.org/x', 'https://b.org']
    """
    found: dict[str, Link] = {}
    for token in _parser().parse(markdown):
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


_parser = cache(markdown_parser)
