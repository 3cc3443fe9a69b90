"""Work that waits until the user pauses."""

from __future__ import annotations

from collections.abc import Callable

from textual.widget import Widget


class AfterPause:
    """Does ``work`` once, so long after the last ``touch``."""

    def __init__(self, widget: Widget, pause_s: float, work: Callable[[], None]) -> None:
        """The widget has to be mounted; without it nothing is done."""
        self._work = work
        self._timer = widget.set_interval(pause_s, self._due, pause=True)

    def touch(self) -> None:
        """Restart the wait: something has changed."""
        self._timer.reset()
        self._timer.resume()

    def forget(self) -> None:
        """Cancel: the work was done meanwhile."""
        self._timer.pause()

    def _due(self) -> None:
        self.forget()
        self._work()
