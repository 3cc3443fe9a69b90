"""What Textual keeps of widgets that are gone."""

from __future__ import annotations

from textual._styles_cache import StylesCache


def forget() -> None:
    """Let go of the rows that were drawn of them.

    Textual (8.2) remembers the colours behind a widget by an object that has all its rows, for the latest 1,024 of
    these, whether the widget is still there or not (issue 6665 of Textual).
    """
    cache_clear = getattr(StylesCache.get_inner_outer, "cache_clear", None)
    if cache_clear is not None:
        cache_clear()
