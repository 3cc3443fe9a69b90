"""Text from models and files made harmless: control characters become visible signs before a terminal gets them.

Needed with Textual 8.2.8. Corrects: five control characters are taken out of a ``Content`` after the places of its
styles were computed, so that these no longer fit and drawing ends the app; all others are written to the terminal as
they are. Not reported upstream yet.
"""

from __future__ import annotations

from rich.console import Console
from rich.segment import Segment
from textual import content
from textual.strip import Strip

from localspec.base.visible import visible, visible_line

_written = Strip.render


def make_text_visible() -> None:
    """Patch Textual, once a process: from now on every ``Content`` and every written ``Strip`` is made visible.

    Both lie in Textual itself, so that no widget, its own or ours, can bypass them.
    """
    setattr(content, "_strip_control_codes", visible)  # noqa: B010 -- a private name
    setattr(Strip, "render", _render)  # noqa: B010 -- a method


def _render(strip: Strip, console: Console) -> str:
    """A row as escape sequences: those of its styles alone, none from its text."""
    if strip._render_cache is None and not all(map(_is_safe, strip)):
        safe = Strip(map(_made_safe, strip)).adjust_cell_length(strip.cell_length)
        strip._render_cache = _written(safe, console)
    return _written(strip, console)


def _is_safe(segment: Segment) -> bool:
    text, style, _ = segment
    known = (text.isascii() and text.isprintable()) or visible_line(text) == text
    return known and (style is None or style._link is None or style._link.isprintable())


def _made_safe(segment: Segment) -> Segment:
    """Text made visible; a link that is not printable is dropped, since it is written as it is too."""
    style = segment.style
    if style is not None and style.link is not None and not style.link.isprintable():
        style = style.update_link(None)
    return Segment(visible_line(segment.text), style)
