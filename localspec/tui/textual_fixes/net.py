"""Text of strangers on the screen: made harmless as it enters what is shown, and netted where the screen leaves.

Textual (8.2) takes only five control characters out of a ``Content``, and that after the places of its styles were
reckoned, so that they no longer fit and drawing ends the app. All others it writes to the terminal as they are.
"""

from __future__ import annotations

from rich.console import Console
from rich.segment import Segment
from textual import content
from textual.strip import Strip

from localspec.base.visible import visible, visible_line

_written = Strip.render


def cast_net() -> None:
    """From now on each text that becomes a ``Content`` is visible, and so is each strip that is written.

    Both lie in Textual itself, so that its own widgets, and those of ours that are still to come, cannot go round them.
    """
    setattr(content, "_strip_control_codes", visible)  # noqa: B010 -- a private name
    setattr(Strip, "render", _render)  # noqa: B010 -- a method


def _render(strip: Strip, console: Console) -> str:
    """The escape sequences of a row; with text that steers, they would be no longer only those of its styles."""
    if strip._render_cache is None and not all(map(_is_safe, strip)):
        safe = Strip(map(_made_safe, strip)).adjust_cell_length(strip.cell_length)
        strip._render_cache = _written(safe, console)
    return _written(strip, console)


def _is_safe(segment: Segment) -> bool:
    text, style, _ = segment
    known = (text.isascii() and text.isprintable()) or visible_line(text) == text
    return known and (style is None or style._link is None or style._link.isprintable())


def _made_safe(segment: Segment) -> Segment:
    """The link of a style is written as it is as well."""
    style = segment.style
    if style is not None and style.link is not None and not style.link.isprintable():
        style = style.update_link(None)
    return Segment(visible_line(segment.text), style)
