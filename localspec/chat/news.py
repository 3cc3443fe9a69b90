"""What those who follow replies have to say, on the quiet line until the reader goes on."""

from __future__ import annotations

from localspec.insight.observers import Observer


class NewsLine:
    """The latest news, with how many came before it since the reader last sent something."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._lines: list[str] = []

    @property
    def note(self) -> str:
        """Empty if there is none."""
        self._lines += [news.line for news in self._observer.news()]
        if not self._lines:
            return ""
        more_n = len(self._lines) - 1
        return self._lines[-1] + (f" (and {more_n} more)" if more_n else "")

    def read(self) -> None:
        """The reader has seen what there was."""
        self._lines.clear()
