"""After a program died in the middle of a reply: what it had stored becomes the message."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from localspec.store import provenance
from localspec.store.database import Database, Statement
from localspec.store.rows import update_content
from localspec.store.tree import ReplyState
from localspec.store.writers import living


def finish_cut_off(database: Database, path: Path | None) -> int:
    """Mark replies as cut off whose writer is gone; how many there were. Raises StoreError."""
    alive = living(path) if path is not None else set()
    rows = database.query("SELECT message, part, writer FROM reply WHERE state = 'writing'")
    left = [(message, part) for message, part, writer in rows if writer not in alive]
    for message, part in left:
        database.run(_settle(database, message, part))
    return len(left)


def _settle(database: Database, message: str, part: int) -> Sequence[Statement]:
    """Text and rounds of the chunks go to where those of a finished reply lie."""
    chunks = database.query("SELECT content, rounds FROM chunk WHERE message = ? ORDER BY number", (message,))
    ((content,),) = database.query("SELECT content FROM message WHERE id = ?", (message,))
    rounds = provenance.record(frame for _, frame in chunks) if chunks else None
    return (
        update_content(message, content + "".join(text for text, _ in chunks)),
        (
            "UPDATE reply SET state = ?, rounds = ? WHERE message = ? AND part = ? AND state = 'writing'",
            (ReplyState.CUT_OFF, rounds, message, part),
        ),
        ("DELETE FROM chunk WHERE message = ?", (message,)),
    )
