"""The rows that can still be read of a damaged database, copied into a new one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

_TABLES = ("conversation", "message", "reply", "chunk")
_GAP_N = 100_000
"""The search ends after so many numbers in succession without a readable row: a damaged row may have any number."""
_MEND = (
    """INSERT INTO conversation (id, title, created, updated)
        SELECT conversation, 'Recovered', min(created), max(created) FROM message
        WHERE conversation NOT IN (SELECT id FROM conversation) GROUP BY conversation""",
    # A conversation goes on past a message that is gone; a parent is always before its children.
    """UPDATE message SET parent = (
            SELECT id FROM message AS before WHERE before.conversation = message.conversation
                AND before.number < message.number ORDER BY before.number DESC LIMIT 1
        ) WHERE parent IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM message AS before WHERE before.id = message.parent AND before.number < message.number)""",
    "DELETE FROM conversation WHERE id NOT IN (SELECT conversation FROM message)",
    """UPDATE conversation SET leaf = (
            SELECT id FROM message WHERE conversation = conversation.id AND deleted IS NULL ORDER BY number DESC LIMIT 1
        ) WHERE leaf IS NULL OR leaf NOT IN (SELECT id FROM message)""",
    "DELETE FROM reply WHERE message NOT IN (SELECT id FROM message)",
    "DELETE FROM chunk WHERE message NOT IN (SELECT message FROM reply)",
)


def salvage(damaged: sqlite3.Connection, whole: sqlite3.Connection) -> tuple[int, int]:
    """Copy what can be read into a new database; returns the numbers of conversations and of messages.

    A message whose parent is lost follows the message before it. Raises sqlite3.Error if ``whole`` cannot be written.
    """
    whole.execute("PRAGMA foreign_keys = OFF")
    whole.execute("BEGIN")
    for table in _TABLES:
        columns = _shared_columns(table, damaged, whole)
        if not columns:
            continue  # no row of it can be read
        names = ", ".join(("rowid", *columns))
        insert = f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({', '.join('?' * (len(columns) + 1))})"
        for row in _rows(damaged, f"SELECT {names} FROM {table} NOT INDEXED"):
            try:
                whole.execute(insert, row)
            except sqlite3.IntegrityError:
                continue  # a value of another type than its column's
    for statement in _MEND:
        whole.execute(statement)
    whole.execute("COMMIT")
    whole.execute("PRAGMA foreign_keys = ON")
    conversations_n, messages_n = (
        whole.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("conversation", "message")
    )
    return conversations_n, messages_n


def _shared_columns(table: str, damaged: sqlite3.Connection, whole: sqlite3.Connection) -> list[str]:
    """The columns that both versions of a table have, without the number that is its rowid."""
    query = f"SELECT name FROM pragma_table_info('{table}') WHERE type <> 'INTEGER' OR pk = 0 OR name <> 'number'"
    try:
        there = {name for (name,) in damaged.execute(query)}
    except sqlite3.Error:
        return []
    return [name for (name,) in whole.execute(query) if name in there]


def _rows(damaged: sqlite3.Connection, select: str) -> Iterator[Sequence[object]]:
    """The rows that can be read: from the first one on, from the last one back, and between these one by one."""
    last = 0
    try:
        for row in damaged.execute(f"{select} ORDER BY rowid"):
            last = row[0]
            yield row
    except sqlite3.Error:
        pass
    else:
        return
    first = None
    try:
        for row in damaged.execute(f"{select} WHERE rowid > ? ORDER BY rowid DESC", (last,)):
            first = row[0]
            yield row
    except sqlite3.Error:
        pass
    rowid, gap_n = last + 1, 0
    while gap_n < _GAP_N and (first is None or rowid < first):
        try:
            found = damaged.execute(f"{select} WHERE rowid = ?", (rowid,)).fetchone()
        except sqlite3.Error:
            found = None
        if found is not None:
            yield found
        rowid, gap_n = rowid + 1, 0 if found else gap_n + 1
