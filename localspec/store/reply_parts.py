"""The parts of replies in an open conversation: read from the database, or recorded."""

from __future__ import annotations

from localspec.store import rows
from localspec.store.database import Database, Statement
from localspec.store.heading_writer import HeadingWriter
from localspec.store.recorder import Ended, Monotonic, Recorder
from localspec.store.replies import ReplyMetadata, ReplyPart
from localspec.store.tree import Node, ReplyState
from localspec.store.write_queue import WriteQueue
from localspec.store.writer_lock import WriterLock


class ReplyParts:
    """Access to the parts of replies: one part for each run of the engine."""

    def __init__(
        self,
        database: Database,
        write_queue: WriteQueue,
        writer: WriterLock,
        heading_writer: HeadingWriter,
        monotonic: Monotonic,
    ) -> None:
        self._database = database
        self._write_queue = write_queue
        self._writer = writer
        self._heading = heading_writer
        self._monotonic = monotonic
        self._begun_n: dict[str, int] = {}
        """The number of parts of replies that were begun here, which may not be stored yet."""

    def of(self, node: Node) -> tuple[ReplyPart, ...]:
        """The stored parts of a reply. Raises StoreError if they cannot be read, ValueError if rounds are damaged."""
        return rows.parts_of(self._database, node)

    def next(self, node: Node) -> int | None:
        """The number of the next part; None if another program has changed the reply, or is writing it.

        Raises StoreError if that cannot be read now.
        """
        if not self._write_queue.flush(patient=False) and (begun_n := self._begun_n.get(node.id)) is not None:
            return begun_n
        return rows.next_part(self._database, node)

    def begin(self, node: Node, part: int, about: ReplyMetadata, ended: Ended, *before: Statement) -> Recorder:
        """Begin a part and return its recorder; ``before`` is stored together with the beginning."""
        self._heading.touch()
        self._begun_n[node.id] = part + 1
        begun = ReplyPart(about, ReplyState.WRITING, begin=len(node.content))
        self._heading.write(*before, rows.insert_part(node.id, part, begun, self._writer.sign()))
        return Recorder(self._write_queue, node, part, self._monotonic, ended)
