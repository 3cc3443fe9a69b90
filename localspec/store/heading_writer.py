"""What is stored of an open conversation besides its messages: the heading, brought up to date with every write."""

from __future__ import annotations

from dataclasses import replace

from localspec.base.errors import StoreError
from localspec.store import rows
from localspec.store.database import Statement
from localspec.store.documents import Heading
from localspec.store.timestamps import Clock
from localspec.store.tree import Tree
from localspec.store.write_queue import Journal


class HeadingWriter:
    """Knows what the heading is, and what is stored of it; a conversation in which nothing was said is not stored."""

    def __init__(self, journal: Journal, heading: Heading, tree: Tree, clock: Clock, *, stored: bool) -> None:
        self.heading = heading
        self._journal = journal
        self._tree = tree
        self._clock = clock
        self._stored = heading if stored else None

    @property
    def trouble(self) -> StoreError | None:
        """Why something is not stored yet; None if all is."""
        return self._journal.trouble

    def flush(self) -> bool:
        """Try again to store what is not stored yet; whether all is."""
        return self._journal.flush()

    def change(self, heading: Heading) -> None:
        """Have this heading from now on, in the store, too."""
        self.heading = heading
        self.write()

    def entitle(self, title: str) -> None:
        """Give it a title that nobody chose, with the next write."""
        self.heading = replace(self.heading, title=title)

    def touch(self) -> None:
        """The conversation goes on; the next write says so."""
        self.heading = replace(self.heading, updated=self._clock())

    def write(self, *statements: Statement) -> None:
        """Write what has changed, and the heading with the leaf."""
        self.heading = replace(self.heading, leaf=self._tree.leaf)
        if self._stored or len(self._tree):
            self._journal.write(*self.statements(), *statements)

    def statements(self) -> tuple[Statement, ...]:
        """What brings the stored heading up to date, for somebody who is to write it."""
        before, self._stored = self._stored, self.heading
        if before is None:
            return (rows.insert_heading(self.heading),)
        update = rows.update_heading(before, self.heading)
        return (update,) if update else ()
