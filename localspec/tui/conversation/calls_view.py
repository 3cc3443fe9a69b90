"""The calls that a reply makes: one row each with the beginning of its result, all of both once they are unfolded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual import events
from textual.content import Content
from textual.widgets import Static

from localspec.base.visible import shortened, visible, visible_line
from localspec.chat.tools.chain import ActiveCall
from localspec.chat.tools.wording import STATES, UNREADABLE, arguments_of, result_text
from localspec.store import Node

_SHOWN_CHARS = 4_000
"""The longest part of a result that is shown unfolded; the conversation has all of it."""


class CallsView(Static):
    """Folded at first; a click unfolds it."""

    DEFAULT_CSS = """
    CallsView { color: $quiet; margin: 1 0 0 2; display: none; }
    CallsView.-folded { text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, results: Sequence[Node]) -> None:
        super().__init__("", markup=False)
        self._rows = _rows(results)
        self._unfolded = False

    def on_mount(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def show(self, calls: Sequence[ActiveCall]) -> None:
        """Draw the calls as far as they are."""
        self._rows = [
            (each.call.name, arguments_of(each.call), STATES.get(each.state, ""), result_text(each.result))
            for each in calls
        ]
        self._draw()

    def restore(self, results: Sequence[Node]) -> None:
        """Draw calls that are over."""
        self._rows = _rows(results)
        self._draw()

    def turn(self) -> bool:
        """Unfold or fold; returns False if there is nothing to show."""
        self._unfolded = not self._unfolded
        self._draw()
        return bool(self._rows)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        if self.text_selection is None:  # else it ends a selection of text in here
            self.turn()

    def _draw(self) -> None:
        self.display = bool(self._rows)
        self.set_class(not self._unfolded, "-folded")
        self.update(Content("\n".join(self._lines())))

    def _lines(self) -> Iterator[str]:
        width = max(20, self.size.width or 70)
        for name, arguments, state, result in self._rows:
            call = f"{name} {arguments}".rstrip() if name else UNREADABLE
            if self._unfolded:
                cut = result if len(result) <= _SHOWN_CHARS else f"{result[:_SHOWN_CHARS]}…"
                yield visible_line(f"▾ {call}")
                yield from (f"  {line}" for line in visible(cut or state).split("\n"))
            else:
                called = shortened(visible_line(f"▸ {call}"), width // 2)
                returned = visible_line(" ".join(("→", *result.split())))
                yield shortened(f"{called}  {state or returned}", width)


def _rows(results: Sequence[Node]) -> list[tuple[str, str, str, str]]:
    return [
        (node.call.name, arguments_of(node.call), "", result_text(node.content))
        for node in results
        if node.call is not None
    ]
