"""What the quiet line says: first what was just done, then what goes on by itself."""

from __future__ import annotations

from collections.abc import Callable

from localspec.chat.news import NewsLine
from localspec.chat.session import ChatSession
from localspec.chat.status import pace_note, pause_note
from localspec.tui.controllers.pairs import PairController
from localspec.tui.conversation.turn_notes import storage_note


class QuietLine:
    """One sentence at a time; ``show`` puts it where it is read."""

    def __init__(self, session: ChatSession, controller: PairController, show: Callable[[str], None]) -> None:
        self.said = ""
        """What was just done; empty once the reader has gone on."""
        self.news = NewsLine(session.observer)
        self._session = session
        self._controller = controller
        self._show = show
        self._fetched = frozenset[str]()

    def say(self, text: str) -> None:
        """Say it until something else is said; nothing if empty."""
        self.said = text
        self.draw()

    def draw(self) -> None:
        """Say what there is to say now; a download that has just begun is what the reader has gone on to."""
        fetched = frozenset(download.pair_id for download in self._controller.library.downloads.active)
        if fetched - self._fetched:
            self.said = ""
        self._fetched = fetched
        self._show(self.note)

    @property
    def note(self) -> str:
        session = self._session
        said = self.said or storage_note(session) or self.news.note
        return said or pace_note(session) or pause_note(session) or self._controller.news()
