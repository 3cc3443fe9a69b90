"""The heading of an open conversation, stored together with every write."""

from __future__ import annotations

from dataclasses import fields, replace

from localspec.store import rows
from localspec.store.database import Statement
from localspec.store.documents import Heading
from localspec.store.timestamps import Clock
from localspec.store.tree import Tree
from localspec.store.write_queue import WriteQueue


class HeadingWriter:
    """Holds the current and the stored heading; a conversation without messages is not stored."""

    def __init__(self, write_queue: WriteQueue, heading: Heading, tree: Tree, clock: Clock, *, stored: bool) -> None:
        self.heading = heading
        self._write_queue = write_queue
        self._tree = tree
        self._clock = clock
        self._stored = heading if stored else None

    def change(self, heading: Heading) -> None:
        """Replace the heading, here and in the store."""
        self.heading = heading
        self.write()

    def take_over(self, stored: Heading) -> None:
        """Adopt other programs' changes to the stored heading; own changes that wait to be written come first."""
        if self._stored is None or not self._write_queue.flush():
            return
        before = self._stored
        names = (each.name for each in fields(Heading) if each.name != "leaf")
        theirs = {name: getattr(stored, name) for name in names if getattr(self.heading, name) == getattr(before, name)}
        self.heading = replace(self.heading, **theirs)
        self._stored = replace(stored, leaf=before.leaf)

    def entitle(self, title: str) -> None:
        """Set a derived title, stored with the next write."""
        self.heading = replace(self.heading, title=title)

    def touch(self) -> None:
        """Set the time of the last message, stored with the next write."""
        self.heading = replace(self.heading, updated=self._clock())

    def write(self, *statements: Statement) -> None:
        """Write statements together with the changes of the heading."""
        self.heading = replace(self.heading, leaf=self._tree.leaf)
        if self._stored or len(self._tree):
            self._write_queue.write(*self.statements(), *statements)

    def statements(self) -> tuple[Statement, ...]:
        """The statements that update the stored heading; the caller must run them."""
        before, self._stored = self._stored, self.heading
        if before is None:
            return (rows.insert_heading(self.heading),)
        update = rows.update_heading(before, self.heading)
        return (update,) if update else ()
