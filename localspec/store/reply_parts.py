"""How the replies of an open conversation were written: read from the database, or begun and recorded."""

from __future__ import annotations

from localspec.store import rows
from localspec.store.database import Database, Statement
from localspec.store.heading_writer import HeadingWriter
from localspec.store.recorder import Ended, Monotonic, Recorder
from localspec.store.replies import ReplyMetadata, ReplyPart
from localspec.store.tree import Node, ReplyState
from localspec.store.write_queue import Journal
from localspec.store.writer_lock import WriterLock


class ReplyParts:
    """A reply has a part for each time that the engine wrote at it."""

    def __init__(
        self, database: Database, journal: Journal, writer: WriterLock, keeper: HeadingWriter, monotonic: Monotonic
    ) -> None:
        self._database = database
        self._journal = journal
        self._writer = writer
        self._keeper = keeper
        self._monotonic = monotonic
        self._begun_n: dict[str, int] = {}
        """Of replies that were begun here; they may not be stored yet."""

    def of(self, node: Node) -> tuple[ReplyPart, ...]:
        """As they are stored. Raises StoreError if they cannot be read; ValueError if their rounds are damaged."""
        return rows.parts_of(self._database, node)

    def next(self, node: Node) -> int:
        """The number of the part to come. Raises StoreError if what is stored cannot be read now."""
        begun_n = self._begun_n.get(node.id)
        return len(self.of(node)) if begun_n is None else begun_n

    def begin(self, node: Node, part: int, about: ReplyMetadata, ended: Ended, *before: Statement) -> Recorder:
        """Record what is written at a reply from now on; ``before`` is stored together with its beginning."""
        self._keeper.touch()
        self._begun_n[node.id] = part + 1
        begun = ReplyPart(about, ReplyState.WRITING, begin=len(node.content))
        self._keeper.write(*before, rows.insert_part(node.id, part, begun, self._writer.sign()))
        return Recorder(self._journal, node, part, self._monotonic, ended)
