"""The state of the screen of figures: the view and the chosen group."""

from __future__ import annotations

from collections.abc import Iterator

from localspec.chat.stats.reading import GroupedFigures, PairHistory, Reading, counting, watching
from localspec.chat.stats.rows import StatsRow, group_rows, missed_text, notice_rows, progress_text
from localspec.insight.stats.objectives import Objectives
from localspec.insight.stats.page import Line, Sheet, page
from localspec.insight.stats.wording import basis, replies_text
from localspec.store import Store

BY = ("pair", "drafter", "subject", "temperature", "context", "day")
WATCH = "watch"
VIEWS = (*BY, WATCH)
"""The groupings of replies, and the watch for drift."""
ALL = "all replies"

EMPTY = (
    "There are no figures yet. Each reply of the chat is kept with its figures, unless the setting record_figures "
    "is no; then they are shown here."
)
NO_OBJECTIVES = (
    "No objectives are set. The settings ttft_p95_s and min_speedup say what is wanted of a pair, and the days on "
    "which it was missed are then listed here."
)
ALL_MET = "Every objective was met on every day."


class StatsBrowser:
    """Belongs to the screen's thread; its readings may be read in another."""

    def __init__(self, store: Store, objectives: Objectives) -> None:
        self.view = VIEWS[0]
        self._store = store
        self._objectives = objectives
        self._counts: dict[str, Reading[GroupedFigures]] = {}
        self._watched = watching(store, objectives)
        self._marked: dict[str, str] = {}

    # What is read

    @property
    def unread(self) -> Reading[GroupedFigures] | Reading[PairHistory] | None:
        """The reading of which to read the next slice in another thread: the shown one, then the watch.

        None when all is read.
        """
        return next((reading for reading in (self._shown, self._watched) if not reading.done), None)

    def again(self) -> None:
        """Read new replies too."""
        self._shown.again()
        self._watched.again()

    @property
    def _shown(self) -> Reading[GroupedFigures] | Reading[PairHistory]:
        return self._watched if self.view == WATCH else self._count

    @property
    def _count(self) -> Reading[GroupedFigures]:
        if self.view not in self._counts:
            self._counts[self.view] = counting(self._store, self.view)
        return self._counts[self.view]

    # What the reader does

    def turn(self, step: int) -> None:
        """Go to another view."""
        self.view = VIEWS[(VIEWS.index(self.view) + step) % len(VIEWS)]

    def mark(self, row_id: str) -> None:
        self._marked[self.view] = row_id

    # What there is to show

    @property
    def heading(self) -> str:
        """The number of replies read."""
        return progress_text(self._replies_n, reading=not self._shown.done)

    @property
    def _replies_n(self) -> int:
        with self._shown.look() as taken:
            return taken.replies_n if isinstance(taken, PairHistory) else taken.whole.whole.replies_n

    @property
    def notices_n(self) -> int:
        return len(self._watched.taken.notices)

    @property
    def empty(self) -> str:
        """The reason why nothing is shown, in a sentence; empty if something is."""
        shown = self._shown
        return shown.trouble or (EMPTY if shown.done and not self._replies_n else "")

    def marked(self, rows: list[StatsRow]) -> str | None:
        """The row of the page: the user's choice, else the first."""
        known = self._marked.get(self.view)
        ids = [row.id for row in rows]
        return known if known in ids else ids[0] if ids else None

    def rows(self, width: int) -> tuple[str, list[StatsRow]]:
        """The heads of the columns, and the rows, all of ``width`` characters at most."""
        if self.view == WATCH:
            with self._watched.look() as taken:
                return "", notice_rows(taken.notices, taken.misses(), width)
        with self._count.look() as counted:
            groups = {ALL: counted.whole, **counted.groups()} if counted.whole.whole.replies_n else {}
            return group_rows(groups, self.view.upper(), width)

    def page(self, row_id: str | None, sheet: Sheet) -> list[Line]:
        """The page about a row, or about all replies."""
        if self.view == WATCH:
            with self._watched.look() as taken:
                return list(self._watch_page(taken, row_id))
        with self._count.look() as counted:
            overview = counted.groups().get(row_id or ALL, counted.whole)
            if not overview.whole.replies_n:
                return []
            return [(basis(overview), False), ("", False), *page(overview, sheet)]

    def _watch_page(self, taken: PairHistory, row_id: str | None) -> Iterator[Line]:
        misses = taken.misses()
        if row_id is not None:
            place = int(row_id)
            notices = taken.notices
            yield (notices[place].text if place < len(notices) else missed_text(misses[place - len(notices)])), False
            yield "", False
        if not taken.notices:
            yield f"No pair has become worse, as far as {replies_text(taken.replies_n)} tell.", False
        if not self._objectives.any:
            yield NO_OBJECTIVES, False
        elif not misses:
            yield ALL_MET, False
