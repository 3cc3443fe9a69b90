"""What Textual keeps of widgets that are gone, and of what was drawn of them."""

from __future__ import annotations

from collections.abc import Iterable

from textual._styles_cache import StylesCache
from textual.dom import DOMNode
from textual.screen import Screen
from textual.strip import Strip


def forget(screens: Iterable[Screen[object]]) -> None:
    """Let go of the rows that were drawn of them, and of those that somebody looked for on these screens.

    Textual (8.2) remembers the colours behind a widget by an object that has all its rows, for the latest 1,024 of
    these (issue 6665 of Textual); and every place in the tree, what was found from there for each of its states, the
    latest 1,024 as well. Whether the widgets are still there or not is all the same to both. And it remembers how the
    latest 16,384 styles are told to a terminal: a style says where in its widget it stands, so that hardly one is met
    again, and each remembers that by itself as long as it is drawn.
    """
    for remembering in (StylesCache.get_inner_outer, Strip.render_ansi):
        cache_clear = getattr(remembering, "cache_clear", None)
        if cache_clear is not None:
            cache_clear()
    for screen in screens:
        for node in screen.walk_children(DOMNode, with_self=True):
            node._query_one_cache.clear()
