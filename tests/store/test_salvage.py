"""Tests of what is looked for in a damaged database; ``test_opening`` has what is found in real ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, cast

import pytest

from localspec.runtime.messages import Role
from localspec.store import rows, salvage
from localspec.store.database import Database
from localspec.store.opening import open_memory

_LAST = 2**60


class Torn:
    """A connection of which the first and the last row of each table can be read, and none by its number."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.numbers: list[int] = []
        self._connection = connection

    def execute(self, query: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        found = self._connection.execute(query, parameters)
        if "rowid = ?" in query:
            self.numbers += parameters
            raise sqlite3.DatabaseError
        return _first_alone(found) if "ORDER BY rowid" in query else found


def _first_alone(rows: Iterator[Any]) -> Iterator[Any]:
    yield from islice(rows, 1)
    raise sqlite3.DatabaseError


class NoDatabase:
    """A connection to a file that is no database."""

    def __init__(self) -> None:
        self.asked_n = 0

    def execute(self, query: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        self.asked_n += 1
        raise sqlite3.DatabaseError


def test_a_file_that_is_no_database_is_not_searched_for_rows() -> None:
    """A program that starts beside one waits for nothing."""
    damaged = NoDatabase()
    with closing(open_memory()) as whole:
        assert salvage.salvage(cast("sqlite3.Connection", damaged), whole) == (0, 0)
    assert damaged.asked_n == 4, "the columns of each table, and no row of them"


def test_a_message_is_kept_whatever_its_row_says() -> None:
    """Its text may be all that is left; the role and the figures are mended where they are read."""
    with closing(open_memory()) as damaged, closing(open_memory()) as whole:
        damaged.execute("INSERT INTO conversation (id, title, created, updated) VALUES ('c', '', 1, 1)")
        for role in ("user", "robot"):
            row = f"('{role}', 'c', '{role}', 'text', 1)"
            damaged.execute(f"INSERT INTO message (id, conversation, role, content, created) VALUES {row}")
        damaged.execute("INSERT INTO reply (message, part, state, begin, about) VALUES ('robot', 0, 'done', 0, '{')")
        assert salvage.salvage(damaged, whole) == (1, 2)
        (question, reply) = rows.nodes_of(Database(whole, None), "c")
        assert (question.role, reply.role, reply.content) == (Role.USER, Role.ASSISTANT, "text")


def test_the_search_for_rows_ends_whatever_number_a_row_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged page may tell any, and between two rows all numbers are tried."""
    monkeypatch.setattr(salvage, "_GAP_N", 50)
    with closing(open_memory()) as damaged, closing(open_memory()) as whole:
        for table, columns in (("conversation", "title, updated"), ("message", "conversation, role, content")):
            values = "'', 1" if table == "conversation" else "'c1', 'user', ''"
            for number in (1, 2, _LAST):
                row = f"({number}, '{table[0]}{number}', 1, {values})"
                damaged.execute(f"INSERT INTO {table} (number, id, created, {columns}) VALUES {row}")
        torn = Torn(damaged)
        assert salvage.salvage(cast("sqlite3.Connection", torn), whole) == (1, 2)
    assert torn.numbers == [*range(2, 52)] * 2 + [*range(1, 51)] * 2, "the other two tables are empty"
