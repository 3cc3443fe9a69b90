"""Caches in which Textual keeps removed widgets and their rows alive.

Needed with Textual 8.2.8. Corrects: three caches of 1,024 to 16,384 entries that know nothing of removal. Reported
upstream for the first, ``StylesCache.get_inner_outer``, as Textual's issue 6665; not yet for the other two.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual._styles_cache import StylesCache
from textual.dom import DOMNode
from textual.screen import Screen
from textual.strip import Strip


def clear_caches(screens: Iterable[Screen[object]]) -> None:
    """Empty these caches: of drawn rows, of styles, and of queries on these screens.

    The colours behind a widget are cached for 1,024 objects, each of which holds all rows of a widget. Every node
    caches the results of its last 1,024 queries, widgets that are gone among them. And ``Strip.render_ansi`` caches
    16,384 styles, though a style holds its place in its widget, so that hardly one is met again.
    """
    for remembering in (StylesCache.get_inner_outer, Strip.render_ansi):
        cache_clear = getattr(remembering, "cache_clear", None)
        if cache_clear is not None:
            cache_clear()
    for screen in screens:
        for node in screen.walk_children(DOMNode, with_self=True):
            node._query_one_cache.clear()
