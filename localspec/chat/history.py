"""The list of conversations: its rows in folders, the filter, and changes of the rows that are chosen.

A change is made to the chosen conversations: those selected, or else the marked one; on the row of a folder, all in it.
Each returns a sentence for the reader, also if the disk refuses it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from localspec.base.errors import NotFoundError, StoreError
from localspec.base.fuzzy import fuzzy
from localspec.chat.undo import DeletedConversations
from localspec.store import Heading, ListedConversation, Store
from localspec.store.filing import Filing, FilingFilter

EMPTY = "No conversations yet. What you say is kept, and will be listed here."
NO_MATCH = "No title has these letters."
_NONE_FILED = "Nothing is filed there; is:any has the archive, too."
_ARCHIVE = ""
"""The name of its row; no folder has it."""


@dataclass(frozen=True, slots=True)
class FolderRow:
    """A folder in the list, or the archive."""

    name: str
    """Empty for the archive."""
    headings: tuple[Heading, ...]
    unfolded: bool
    selected_n: int
    """The number of its conversations that are selected."""

    @property
    def id(self) -> str:
        return f"/{self.name}"

    @property
    def title(self) -> str:
        return self.name or "Archive"


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """A conversation in the list."""

    heading: Heading
    positions: tuple[int, ...] = ()
    """Indexes of the letters of the title that match the filter."""
    in_folder: bool = False
    """True below the row of its folder."""
    selected: bool = False

    @property
    def headings(self) -> tuple[Heading, ...]:
        return (self.heading,)

    @property
    def id(self) -> str:
        return self.heading.id


class History:
    """The conversations of a store: pinned ones first, then the latest; with a filter, the best match first."""

    def __init__(
        self, store: Store, deleted: DeletedConversations | None = None, unfolded: set[str] | None = None
    ) -> None:
        """``deleted`` takes the conversations deleted here, so that ``ChatCore.undo`` brings them back, too.

        ``unfolded`` has the names of the folders whose conversations are shown, and is changed.
        """
        self._store = store
        self._deleted = deleted or DeletedConversations(store)
        self._unfolded = set() if unfolded is None else unfolded
        self._entries: list[ListedConversation] = []
        self._text = ""
        self._marked: str | None = None
        self._selected: set[str] = set()
        self.refresh()

    def refresh(self) -> str:
        """Read the list anew; returns a sentence if that fails."""
        try:
            self._entries = self._store.conversations()
        except StoreError as error:
            return str(error)
        self._selected &= {entry.heading.id for entry in self._entries}
        return ""

    @property
    def rows(self) -> list[HistoryRow | FolderRow]:
        """The rows that are shown: with a filter what it keeps, else pinned ones, those in no folder, and folders."""
        if not self._text.strip():
            return self._filed()
        return [self._row(*each) for each in _matches(self._entries, self._text)]

    def _filed(self) -> list[HistoryRow | FolderRow]:
        rows: list[HistoryRow | FolderRow] = []
        folders: defaultdict[str, list[ListedConversation]] = defaultdict(list)
        archive: list[ListedConversation] = []
        for entry in self._entries:
            heading = entry.heading
            if heading.archived:
                archive.append(entry)
            elif heading.folder and not heading.pinned:
                folders[heading.folder].append(entry)
            else:
                rows.append(self._row(entry))
        for name in sorted(folders, key=str.casefold):
            rows += self._folder(name, folders[name])
        return rows + (self._folder(_ARCHIVE, archive) if archive else [])

    def _folder(self, name: str, held: Sequence[ListedConversation]) -> list[HistoryRow | FolderRow]:
        unfolded = name in self._unfolded
        selected_n = sum(entry.heading.id in self._selected for entry in held)
        row = FolderRow(name, tuple(entry.heading for entry in held), unfolded, selected_n)
        return [row, *(self._row(entry, in_folder=True) for entry in held)] if unfolded else [row]

    def _row(
        self, entry: ListedConversation, positions: tuple[int, ...] = (), *, in_folder: bool = False
    ) -> HistoryRow:
        heading = entry.heading
        return HistoryRow(heading, positions, in_folder, heading.id in self._selected)

    def empty(self, search: str) -> str:
        """The text in place of an empty list; ``search`` is the key that searches."""
        if not self._entries:
            return EMPTY
        if not FilingFilter.parse(self._text)[1].strip():
            return _NONE_FILED
        return f"{NO_MATCH} {search} searches all messages."

    @property
    def marked(self) -> HistoryRow | FolderRow | None:
        """The row that keys act on: the first, unless the reader went to another."""
        rows = self.rows
        return next((row for row in rows if row.id == self._marked), rows[0] if rows else None)

    def has(self, conversation: str) -> bool:
        """True if it is in the store, shown or not."""
        return any(entry.heading.id == conversation for entry in self._entries)

    @property
    def chosen(self) -> tuple[Heading, ...]:
        """The conversations that a change is made to."""
        if self._selected:
            return tuple(entry.heading for entry in self._entries if entry.heading.id in self._selected)
        return () if (row := self.marked) is None else row.headings

    @property
    def about(self) -> str:
        """The number of selected conversations, or the folder and tags of the marked one; else empty."""
        if self._selected:
            return f"{len(self._selected)} selected; keys change all of them."
        row = self.marked
        return str(Filing.of(row.heading)) if isinstance(row, HistoryRow) else ""

    def fold(self, name: str) -> None:
        """Show the conversations of a folder, or hide them."""
        self._unfolded ^= {name}

    def select(self) -> None:
        """Select the marked conversation, or unselect it, and mark the next row; of a folder, all in it."""
        if (row := self.marked) is not None:
            ids = {heading.id for heading in row.headings}
            self._selected = self._selected - ids if ids <= self._selected else self._selected | ids
            self.move(1)

    def select_all(self) -> None:
        """Select all rows that are shown, or if they are, none."""
        ids = {heading.id for row in self.rows for heading in row.headings}
        self._selected = set() if ids <= self._selected else ids

    def unselect(self) -> bool:
        any_, self._selected = bool(self._selected), set()
        return any_

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
        """Pin the chosen conversations to the top, or if they are, unpin them."""
        pinned = not all(heading.pinned for heading in self.chosen)
        return self._change(
            self.chosen,
            lambda ids: self._store.pin(*ids, pinned=pinned),
            "Pinned" if pinned else "No longer pinned",
        )

    def archive(self) -> str:
        """Put the chosen conversations into the archive, or if they are there, back into the list."""
        archived = not all(heading.archived for heading in self.chosen)
        return self._change(
            self.chosen,
            lambda ids: self._store.change_headings(ids, lambda heading: replace(heading, archived=archived)),
            "Archived" if archived else "Back in the list",
        )

    def file(self, conversations: Sequence[Heading], text: str) -> str:
        """File conversations as ``text`` says, see ``Filing``; tags that they do not share stay."""
        before, after = Filing.common(conversations), Filing.parse(text)
        return self._change(
            conversations,
            lambda ids: self._store.change_headings(ids, lambda heading: after.changed(heading, before)),
            "Filed",
        )

    def delete(self, undo: str) -> str:
        """Delete the chosen conversations and mark the next. ``undo`` is the key that brings them back, or empty."""
        which = "it" if len(self.chosen) == 1 else "them"
        rest = f"; {undo} brings {which} back, for 30 days." if undo else ", for good after 30 days."
        return self._change(self.chosen, lambda ids: self._deleted.delete(*ids), "Deleted", rest)

    def undo(self) -> str:
        """Bring back the conversation deleted last."""
        try:
            conversation = self._deleted.restore()
        except (StoreError, NotFoundError) as error:
            self.refresh()
            return str(error)
        if conversation is None:
            return "There is nothing to bring back."
        self._marked = conversation.id
        return self.refresh() or "It is back."

    def _change(
        self, conversations: Sequence[Heading], change: Callable[[Sequence[str]], None], done: str, rest: str = "."
    ) -> str:
        """Change conversations; if the marked row goes elsewhere, mark the one in its place."""
        row, ids = self.marked, [heading.id for heading in conversations]
        if row is None or not ids:
            return ""
        self._marked = row.id
        at = [each.id for each in self.rows].index(row.id)
        many = f"{done}: {len(ids)} conversations" if len(ids) > 1 else done
        sentence = self._do(lambda: change(ids), f"{many}{rest}")
        after = self.rows
        if all(each.id != row.id for each in after):
            self._marked = after[min(at, len(after) - 1)].id if after else None
        return sentence

    def _do(self, change: Callable[[], None], done: str) -> str:
        try:
            change()
        except StoreError as error:
            self.refresh()
            return str(error)
        self._selected.clear()
        return self.refresh() or done


def kept(entries: Sequence[ListedConversation], text: str) -> list[ListedConversation]:
    """The conversations that a filter keeps: letters of the title, and words of ``FilingFilter``."""
    return [entry for entry, _ in _matches(entries, text)]


def _matches(entries: Sequence[ListedConversation], text: str) -> list[tuple[ListedConversation, tuple[int, ...]]]:
    filing, letters = FilingFilter.parse(text)
    held = [entry for entry in entries if filing.holds(entry.heading)]
    found = fuzzy(letters.strip(), [entry.heading.title for entry in held])
    return [(held[match.index], match.positions) for match in found]


def age(then: datetime, now: datetime) -> str:
    """The time since a moment as "2 h" or "3 d"; after a week its local date.

    >>> age(datetime(2026, 5, 1, 12), datetime(2026, 5, 1, 14))
    '2 h'
    """
    seconds = max(0, int((now - then).total_seconds()))
    for length, unit in ((7 * 86400, ""), (86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= length:
            return f"{seconds // length} {unit}" if unit else _day(then.astimezone(), now.astimezone())
    return "now"


def _day(then: datetime, now: datetime) -> str:
    return then.strftime("%b %d" if now.year == then.year else "%Y")
