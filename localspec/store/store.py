"""The store: all conversations of one user, in one file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from weakref import WeakValueDictionary

from localspec.base.errors import NotFoundError, StoreError, UsageError
from localspec.base.paths import user_paths
from localspec.runtime.images import digests_in, forget_images, images_folder
from localspec.store import rows
from localspec.store.adding import Added, add
from localspec.store.conversation import StoredConversation
from localspec.store.database import Database, storable
from localspec.store.documents import ConversationDocument, Heading, ListedConversation
from localspec.store.ids import Ids, abbreviated, new_id
from localspec.store.opening import Opened, copies_of, open_again, open_file, open_memory
from localspec.store.recorder import Monotonic
from localspec.store.records import FIGURES, RecordFilter, ReplyRecord, read_records
from localspec.store.recovery import finish_cut_off
from localspec.store.search import Hit, search
from localspec.store.timestamps import Clock, now, to_micros
from localspec.store.tree import Tree
from localspec.store.write_queue import WriteQueue
from localspec.store.writer_lock import WriterLock

BUSY_S = 2.0
"""The time to wait for another program that is writing."""
KEPT = timedelta(days=30)
"""The time for which a deleted conversation can be restored."""


def database_file() -> Path:
    """The default path of the database."""
    return user_paths().data / "history.db"


class Store:
    """The conversations of one user. Thread-safe; ``close`` it at the end.

    Methods that change a conversation raise StoreError on failure, also if another program has deleted it for good.
    """

    def __init__(
        self,
        opened: Opened,
        path: Path | None,
        *,
        clock: Clock = now,
        monotonic: Monotonic = time.monotonic,
        ids: Ids = new_id,
    ) -> None:
        """Use ``open`` or ``open_or_memory``."""
        self.path = path
        """The path; None in memory."""
        self.read_only = opened.read_only
        self.notice = opened.notice
        """A remark for the user about the file, in a sentence or two; empty if all is well."""
        self._database = Database(opened.connection, path, opened.notice if opened.read_only else "")
        self._readers: list[Database] = []
        self._write_queue = WriteQueue(self._database)
        self._writer = WriterLock(None if opened.read_only else path)
        self._clock = clock
        self._monotonic = monotonic
        self._ids = ids
        self._open: WeakValueDictionary[str, StoredConversation] = WeakValueDictionary()
        if not self.read_only:
            # If another program is writing, the next start does this.
            with suppress(StoreError):
                finish_cut_off(self._database, path)
                self._forget_deleted()

    @staticmethod
    def open(
        path: Path | None = None,
        *,
        busy_s: float = BUSY_S,
        clock: Clock = now,
        monotonic: Monotonic = time.monotonic,
        ids: Ids = new_id,
    ) -> Store:
        """Open the file, which is created if it is missing. Raises StoreError if it can be neither written nor read.

        Unfinished replies of killed programs are recovered. For files that are damaged, newer, or read-only see
        ``opening``; ``notice`` then has a remark.
        """
        path = path or database_file()
        return Store(open_file(path, clock, busy_s), path, clock=clock, monotonic=monotonic, ids=ids)

    @staticmethod
    def open_or_memory(path: Path | None = None, *, busy_s: float = BUSY_S) -> Store:
        """Open the file as ``open``, or on failure a store in memory. Never raises StoreError."""
        try:
            return Store.open(path, busy_s=busy_s)
        except StoreError as error:
            return Store.in_memory(f"{error.message} New messages are not stored. {error.hint}")

    @staticmethod
    def in_memory(notice: str = "") -> Store:
        """A store in memory, which ends with the program."""
        return Store(Opened(open_memory(), notice=notice), None)

    @property
    def stores(self) -> bool:
        """True if messages outlive the program."""
        return self.path is not None and not self.read_only

    @property
    def trouble(self) -> StoreError | None:
        """The reason why writes are pending, which are lost at ``close``; None if all is stored."""
        return self._write_queue.trouble

    def close(self) -> None:
        """Try pending writes, and close the file."""
        self._write_queue.flush()
        for database in (*self._readers, self._database):
            database.close()
        self._writer.close()

    def begin(self, system: str | None = None) -> StoredConversation:
        """Begin a conversation, which is stored with its first message."""
        moment = self._clock()
        return self._opened(Heading(self._ids(), moment, moment, system=system), Tree(), stored=False)

    def open_conversation(self, conversation: str) -> StoredConversation:
        """Open a stored conversation by its whole id, as the same object while it is in use. Raises NotFoundError."""
        held = self._open.get(conversation)
        if held is not None:
            return held
        heading = rows.heading_of(self._database, conversation)
        return self._opened(heading, Tree(rows.nodes_of(self._database, conversation), heading.leaf), stored=True)

    def conversations(self, *, deleted: bool = False) -> list[ListedConversation]:
        """All conversations, or the deleted ones that can be restored: pinned first, then the latest."""
        return rows.headings(self._database, deleted=deleted)

    def short_ids(self, *, deleted: bool = False) -> dict[str, str]:
        """The ids of ``conversations`` with their shortest prefixes for ``find``."""
        found = self._database.query("SELECT id FROM conversation WHERE (deleted IS NOT NULL) = ?", (deleted,))
        ids = [str(conversation) for (conversation,) in found]
        return dict(zip(ids, abbreviated(ids), strict=True))

    def find(self, beginning: str, *, deleted: bool | None = False) -> str:
        """The id with this beginning. Raises NotFoundError for none, UsageError for several."""
        found = self._database.query(
            "SELECT id FROM conversation WHERE substr(id, 1, ?) = ? AND (? IS NULL OR (deleted IS NOT NULL) = ?)",
            (len(beginning), storable(beginning.lower()), deleted, deleted),
        )
        ids = sorted(conversation for (conversation,) in found)
        if beginning.lower() in ids:
            return beginning.lower()
        if not ids or not beginning:
            which = "deleted conversation" if deleted else "conversation"
            listing = "localspec history list --deleted" if deleted else "localspec history list"
            raise NotFoundError(f"No {which} has an id that begins with {beginning!r}.", f"`{listing}` shows them.")
        if len(ids) > 1:
            some = ", ".join(abbreviated(ids)[:4])
            raise UsageError(f"{len(ids)} conversations begin with {beginning!r}: {some}.", "Give more of the id.")
        return str(ids[0])

    def document(self, conversation: str) -> ConversationDocument:
        """A whole conversation with all branches and rounds. Raises NotFoundError."""
        return rows.document_of(self._database, conversation)

    def search(self, query: str, limit: int = 50) -> list[Hit]:
        """Messages and titles that match, the best first; see the modules ``search`` and ``filing``.

        For a thread of its own.
        """
        return search(self._reader(), query, limit, self._clock())

    def runs(
        self, after: int = 0, since: datetime | None = None, where: RecordFilter = FIGURES
    ) -> Iterator[ReplyRecord]:
        """The records of all replies, oldest first; see ``read_records``. For a thread of its own."""
        return read_records(self._reader(), after, since, where)

    def rename(self, conversation: str, title: str) -> None:
        """As ``StoredConversation.rename``."""
        with _gone_is_told():
            held = self.open_conversation(conversation)
        held.rename(title)
        if held.trouble is not None:
            raise held.trouble

    def change_headings(self, conversations: Iterable[str], change: Callable[[Heading], Heading]) -> None:
        """Replace the headings of conversations by ``change`` of each, those that are not open all or none."""
        held = {each: self._open.get(each) for each in conversations}
        with _gone_is_told():
            stored = [rows.heading_of(self._database, each) for each, opened in held.items() if opened is None]
        for opened in filter(None, held.values()):
            opened.change_heading(change)
            if opened.trouble is not None:
                raise opened.trouble
        self._database.run(filter(None, (rows.update_heading(before, change(before)) for before in stored)))

    def pin(self, *conversations: str, pinned: bool) -> None:
        """Pin them to the top of lists, or unpin them."""
        self.change_headings(conversations, lambda heading: replace(heading, pinned=pinned))

    def delete(self, *conversations: str) -> None:
        """Remove them from lists and search; ``restore`` can undo that for 30 days."""
        moment = self._clock()
        self.change_headings(conversations, lambda heading: replace(heading, deleted=moment))

    def restore(self, *conversations: str) -> None:
        """Undo ``delete``. Raises NotFoundError, having changed nothing, if one is gone for good."""
        for conversation in conversations:
            rows.heading_of(self._database, conversation)
        self.change_headings(conversations, lambda heading: replace(heading, deleted=None))

    def destroy(self, conversation: str) -> None:
        """Delete it for good, with its words in the file and the indexes. Takes a second in a large store."""
        self._database.query("PRAGMA secure_delete = ON")
        self._database.run(
            [
                ("DELETE FROM conversation WHERE id = ?", (conversation,)),
                # An index only marks deleted words; they are removed when its segments are merged.
                ("INSERT INTO message_words (message_words) VALUES ('optimize')", ()),
                ("INSERT INTO conversation_words (conversation_words) VALUES ('optimize')", ()),
            ]
        )
        self._database.query("PRAGMA wal_checkpoint(TRUNCATE)")
        self._forget_images()

    def add(self, documents: Sequence[ConversationDocument], *, copies: bool = False) -> Added:
        """Store whole conversations, all or none; see ``adding``. Raises StoreError."""
        return add(self._database, documents, self._ids, copies=copies)

    def _opened(self, heading: Heading, tree: Tree, *, stored: bool) -> StoredConversation:
        conversation = StoredConversation(
            self._database,
            self._write_queue,
            self._writer,
            heading,
            tree,
            stored=stored,
            clock=self._clock,
            monotonic=self._monotonic,
            ids=self._ids,
        )
        self._open[heading.id] = conversation
        return conversation

    def _forget_deleted(self) -> None:
        before = to_micros(self._clock() - KEPT)
        self._database.run([("DELETE FROM conversation WHERE deleted < ?", (before,))])
        self._forget_images()

    def _forget_images(self) -> None:
        """Delete the files of images that no message names any more."""
        folder = images_folder()
        if self.path is None or self.path.parent != folder.parent or not folder.exists():
            return
        if any("-damaged-" in each.name for each in copies_of(self.path)):
            return  # what is recovered of it later may name others
        # The index has the word of every reference; all texts would have to be read otherwise.
        found = self._database.query(
            """SELECT content FROM message WHERE role IN (?, ?)
                AND number IN (SELECT rowid FROM message_words WHERE message_words MATCH 'sha256')""",
            ("user", "tool"),
        )
        forget_images({digest for (content,) in found for digest in digests_in(content)}, self._clock().timestamp())

    def _reader(self) -> Database:
        """A connection of its own for long reads, so that writes do not wait for them."""
        if self.path is None or self.read_only:
            return self._database
        if not self._readers:
            self._readers.append(Database(open_again(self.path, BUSY_S), self.path, "This connection only reads."))
        return self._readers[0]


@contextmanager
def _gone_is_told() -> Iterator[None]:
    """Raise StoreError for a conversation that is not in the store any more."""
    try:
        yield
    except NotFoundError:
        raise StoreError(
            "Another program has deleted a conversation for good; nothing was changed.", "Look at the list again."
        ) from None
