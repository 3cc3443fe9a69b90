"""News of the observers, for a line of the screen."""

from __future__ import annotations

from localspec.insight.observers import Observer


class NewsLine:
    """The latest news, with the number of those before it since the reader last sent something."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._lines: list[str] = []

    @property
    def note(self) -> str:
        """The text of the line; empty without news."""
        self._lines += [news.line for news in self._observer.news()]
        if not self._lines:
            return ""
        more_n = len(self._lines) - 1
        return self._lines[-1] + (f" (and {more_n} more)" if more_n else "")

    def read(self) -> None:
        """Forget the news so far: the reader has seen it."""
        self._lines.clear()
