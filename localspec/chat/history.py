"""The list of conversations: its rows, the filter, and changes of the marked row.

Each change returns a sentence for the reader, also if the disk refuses it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from localspec.base.errors import StoreError
from localspec.base.fuzzy import fuzzy
from localspec.chat.undo import DeletedConversations
from localspec.store import Heading, Store, Summary

EMPTY = "No conversations yet. What you say is kept, and will be listed here."
NO_MATCH = "No title has these letters."


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """A conversation in the list."""

    heading: Heading
    messages_n: int
    positions: tuple[int, ...] = ()
    """Indexes of the letters of the title that match the filter."""

    @property
    def id(self) -> str:
        return self.heading.id


class History:
    """The conversations of a store: pinned ones first, then the latest; with a filter, the best match first."""

    def __init__(self, store: Store, deleted: DeletedConversations | None = None) -> None:
        """``deleted`` takes the conversations deleted here, so that ``ChatCore.undo`` brings them back, too."""
        self._store = store
        self._deleted = deleted or DeletedConversations(store)
        self._summaries: list[Summary] = []
        self._text = ""
        self._marked: str | None = None
        self.refresh()

    def refresh(self) -> str:
        """Read the list anew; returns a sentence if that fails."""
        try:
            self._summaries = self._store.conversations()
        except StoreError as error:
            return str(error)
        return ""

    @property
    def rows(self) -> list[HistoryRow]:
        """The rows that are shown."""
        if not self._text.strip():
            return [HistoryRow(summary.heading, summary.messages_n) for summary in self._summaries]
        found = fuzzy(self._text, [summary.heading.title for summary in self._summaries])
        hits = ((self._summaries[match.index], match.positions) for match in found)
        return [HistoryRow(summary.heading, summary.messages_n, positions) for summary, positions in hits]

    def empty(self, search: str) -> str:
        """The text in place of an empty list; ``search`` is the key that searches."""
        return f"{NO_MATCH} {search} searches all messages." if self._summaries else EMPTY

    @property
    def marked(self) -> HistoryRow | None:
        """The row that keys act on: the first, unless the reader went to another."""
        rows = self.rows
        return next((row for row in rows if row.id == self._marked), rows[0] if rows else None)

    def filter(self, text: str) -> None:
        """Show the conversations whose titles have these letters, and mark the best."""
        if text != self._text:
            self._text, self._marked = text, None

    def mark(self, conversation: str) -> None:
        self._marked = conversation

    def move(self, step: int) -> None:
        """Move the mark by some rows, at most to an end."""
        rows = self.rows
        if rows:
            at = next((n for n, row in enumerate(rows) if row.id == self._marked), 0)
            self._marked = rows[max(0, min(len(rows) - 1, at + step))].id

    def rename(self, conversation: str, title: str) -> str:
        """Set a title; an empty one is made from the first question again."""
        return self._do(lambda: self._store.rename(conversation, title), "")

    def pin(self) -> str:
        """Pin the marked conversation to the top, or unpin it."""
        row = self.marked
        if row is None:
            return ""
        self._marked = row.id
        pinned = not row.heading.pinned
        return self._do(lambda: self._store.pin(row.id, pinned), "Pinned." if pinned else "No longer pinned.")

    def delete(self, undo: str) -> str:
        """Delete the marked conversation and mark the next. ``undo`` is the key that brings it back, or empty."""
        row, rows = self.marked, self.rows
        if row is None:
            return ""
        at = [each.id for each in rows].index(row.id)
        sentence = self._do(lambda: self._deleted.delete(row.id), _deleted(undo))
        if all(summary.heading.id != row.id for summary in self._summaries):
            rest = self.rows
            self._marked = rest[min(at, len(rest) - 1)].id if rest else None
        return sentence

    def undo(self) -> str:
        """Bring back the conversation deleted last."""
        try:
            conversation = self._deleted.restore()
        except StoreError as error:
            self.refresh()
            return str(error)
        if conversation is None:
            return "There is nothing to bring back."
        self._marked = conversation.id
        return self.refresh() or "It is back."

    def _do(self, change: Callable[[], None], done: str) -> str:
        try:
            change()
        except StoreError as error:
            self.refresh()
            return str(error)
        return self.refresh() or done


def _deleted(undo: str) -> str:
    return f"Deleted; {undo} brings it back, for 30 days." if undo else "Deleted, for good after 30 days."


def age(then: datetime, now: datetime) -> str:
    """The time since a moment as "2 h" or "3 d"; after a week its date.

    >>> age(datetime(2026, 5, 1, 12), datetime(2026, 5, 1, 14))
    '2 h'
    """
    seconds = max(0, int((now - then).total_seconds()))
    for length, unit in ((7 * 86400, ""), (86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= length:
            return f"{seconds // length} {unit}" if unit else then.strftime("%b %d" if now.year == then.year else "%Y")
    return "now"
