"""The notice above the prompt: first about the last action, then about the conversation and the pairs."""

from __future__ import annotations

from collections.abc import Callable

from localspec.chat.news import NewsLine
from localspec.chat.session import ChatSession
from localspec.chat.status import pace_note, pause_note
from localspec.tui.controllers.pairs import PairController
from localspec.tui.conversation.turn_notes import storage_note

_WAITS = "Waits for the reply; {earlier} takes it back."
_TITLING = "the model writes a title; {stop} stops it"


class NoticeController:
    """One notice at a time; ``show`` draws it."""

    def __init__(self, session: ChatSession, controller: PairController, show: Callable[[str], None]) -> None:
        self.latest = ""
        """The notice about the last action; empty once the reader has gone on."""
        self.news = NewsLine(session.observer)
        self._session = session
        self._controller = controller
        self._show = show
        self._fetched = frozenset[str]()

    def say(self, text: str) -> None:
        """Show this notice until the next one; an empty one ends it."""
        self.latest = text
        self.draw()

    def draw(self) -> None:
        """Show the notice that is due now. A download that has just begun ends the notice about the last action."""
        fetched = frozenset(download.pair_id for download in self._controller.library.downloads.pending)
        if fetched - self._fetched:
            self.latest = ""
        self._fetched = fetched
        self._show(self.note)

    @property
    def note(self) -> str:
        """The notice that is due now; empty if there is none."""
        session = self._session
        urgent = self.latest or storage_note(session) or self.news.note
        queued = session.current is not None and bool(session.waiting) and session.waiting[-1].question is None
        keymap = self._controller.keymap
        titling = keymap.worded(_TITLING) if session.writing_title else ""
        waits = keymap.worded(_WAITS) if queued else ""
        return urgent or waits or titling or pace_note(session) or pause_note(session) or self._controller.news()
