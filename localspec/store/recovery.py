"""The recovery of replies whose program died: the stored text becomes the message."""

from __future__ import annotations

from pathlib import Path

from localspec.store import provenance
from localspec.store.database import Database
from localspec.store.rows import update_content
from localspec.store.tree import ReplyState
from localspec.store.writer_lock import living_writers


def finish_cut_off(database: Database, path: Path | None) -> int:
    """Mark replies of dead writers as cut off; return how many there were. Raises StoreError."""
    rows = database.query(
        "SELECT message, part, writer FROM reply JOIN message ON message.id = reply.message WHERE state = 'writing'"
    )
    # After the query: a program that starts later has none of these replies.
    alive = living_writers(path) if path is not None else set()
    left = [(message, part) for message, part, writer in rows if writer not in alive]
    return sum(_finish(database, message, part) for message, part in left)


def _finish(database: Database, message: str, part: int) -> bool:
    """Move text and rounds of the chunks to their final place; False if the reply has ended meanwhile.

    In one transaction: other programs do this too, and a writer without a lock may end its reply meanwhile.
    """
    with database.transaction() as connection:
        still = "SELECT 1 FROM reply WHERE message = ? AND part = ? AND state = 'writing'"
        if not database.query(still, (message, part)):
            return False
        chunks = database.query("SELECT content, rounds FROM chunk WHERE message = ? ORDER BY number", (message,))
        ((content,),) = database.query("SELECT content FROM message WHERE id = ?", (message,))
        rounds = provenance.record(frame for _, frame in chunks) if chunks else None
        for sql, parameters in (
            update_content(message, content + "".join(text for text, _ in chunks)),
            (
                "UPDATE reply SET state = ?, rounds = ? WHERE message = ? AND part = ?",
                (ReplyState.CUT_OFF, rounds, message, part),
            ),
            ("DELETE FROM chunk WHERE message = ?", (message,)),
        ):
            connection.execute(sql, parameters)
    return True
