"""The tables, as a list of migrations from each version to the next.

A released migration is never changed; a change of the tables is a new one at the end. The database has the number of
migrations done (``PRAGMA user_version``).

Times are whole microseconds since 1970 in UTC. ``content`` is the text of a message. While a reply streams, it stays,
and new text is appended in ``chunk``, until the reply ends.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

Migration = Callable[[sqlite3.Connection], None]


def conversations_and_messages(connection: sqlite3.Connection) -> None:
    """Add the tables of conversations and of messages, which form trees."""
    connection.execute(
        """CREATE TABLE conversation (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            title TEXT NOT NULL,
            title_given INTEGER NOT NULL DEFAULT 0,
            system TEXT,
            pinned INTEGER NOT NULL DEFAULT 0,
            created INTEGER NOT NULL,
            updated INTEGER NOT NULL,
            deleted INTEGER,
            leaf TEXT,
            source TEXT
        ) STRICT"""
    )
    connection.execute(
        """CREATE TABLE message (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            conversation TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
            parent TEXT REFERENCES message (id) ON DELETE CASCADE,
            role TEXT NOT NULL,
            content TEXT NOT NULL,
            created INTEGER NOT NULL,
            deleted INTEGER
        ) STRICT"""
    )
    connection.execute("CREATE INDEX message_of ON message (conversation, deleted)")
    connection.execute("CREATE INDEX message_after ON message (parent)")


def replies(connection: sqlite3.Connection) -> None:
    """Add the tables of replies, with metadata, rounds and figures, and of chunks for replies that stream."""
    connection.execute(
        """CREATE TABLE reply (
            message TEXT NOT NULL REFERENCES message (id) ON DELETE CASCADE,
            part INTEGER NOT NULL,
            state TEXT NOT NULL,
            writer TEXT,
            begin INTEGER NOT NULL,
            about TEXT NOT NULL,
            started TEXT,
            rounds BLOB,
            finished TEXT,
            error TEXT,
            PRIMARY KEY (message, part)
        ) STRICT"""
    )
    connection.execute("CREATE INDEX reply_writing ON reply (message) WHERE state = 'writing'")
    connection.execute(
        """CREATE TABLE chunk (
            message TEXT NOT NULL REFERENCES message (id) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            content TEXT NOT NULL,
            rounds BLOB NOT NULL,
            PRIMARY KEY (message, number)
        ) STRICT"""
    )


def full_text_search(connection: sqlite3.Connection) -> None:
    """Add the full-text indexes of messages and titles, updated by triggers."""
    for table, column in (("message", "content"), ("conversation", "title")):
        index = f"{table}_words"
        added = f"INSERT INTO {index} (rowid, {column}) VALUES (new.number, new.{column})"
        taken = f"INSERT INTO {index} ({index}, rowid, {column}) VALUES ('delete', old.number, old.{column})"
        for statement in (
            f"""CREATE VIRTUAL TABLE {index} USING fts5 (
                {column}, content = '{table}', content_rowid = 'number',
                tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3'
            )""",
            f"CREATE TRIGGER {index}_added AFTER INSERT ON {table} WHEN new.{column} <> '' BEGIN {added}; END",
            f"CREATE TRIGGER {index}_taken AFTER DELETE ON {table} WHEN old.{column} <> '' BEGIN {taken}; END",
            f"""CREATE TRIGGER {index}_new AFTER UPDATE OF {column} ON {table}
                WHEN new.{column} <> '' AND new.{column} IS NOT old.{column} BEGIN {added}; END""",
            f"""CREATE TRIGGER {index}_old BEFORE UPDATE OF {column} ON {table}
                WHEN old.{column} <> '' AND new.{column} IS NOT old.{column} BEGIN {taken}; END""",
            f"INSERT INTO {index} (rowid, {column}) SELECT number, {column} FROM {table} WHERE {column} <> ''",
        ):
            connection.execute(statement)


def own_settings(connection: sqlite3.Connection) -> None:
    """Add a conversation's own settings, a JSON object by ``section.key``."""
    connection.execute("ALTER TABLE conversation ADD COLUMN settings TEXT")


def filing(connection: sqlite3.Connection) -> None:
    """Add a conversation's folder, its tags parted by spaces, and the mark of the archive."""
    for column in (
        "folder TEXT NOT NULL DEFAULT ''",
        "tags TEXT NOT NULL DEFAULT ''",
        "archived INTEGER NOT NULL DEFAULT 0",
    ):
        connection.execute(f"ALTER TABLE conversation ADD COLUMN {column}")


def calls_of_tools(connection: sqlite3.Connection) -> None:
    """Add the call that a message of the role tool answers, a JSON object with id, name and arguments."""
    connection.execute("ALTER TABLE message ADD COLUMN call TEXT")


MIGRATIONS: Sequence[Migration] = (
    conversations_and_messages,
    replies,
    full_text_search,
    own_settings,
    filing,
    calls_of_tools,
)
"""The first n migrations make version n of the database."""
