"""What can be undone in a conversation: messages that were deleted, and summaries that were made."""

from __future__ import annotations

from localspec.chat import Role
from localspec.store import Recap, StoredConversation


class Undoing:
    """The latest first; nothing is ever destroyed, so nothing is too old."""

    def __init__(self, stored: StoredConversation) -> None:
        self._stored = stored
        self._done: list[str] = []

    def delete(self, message: str) -> None:
        """Delete the turn of a message."""
        self.note(self._stored.delete(message)[0].id)

    def note(self, message: str) -> None:
        """Something was done that deleting or restoring this message undoes."""
        self._done.append(message)

    def undo(self, recap: Recap | None) -> str | None:
        """Undo what was done last, or the ``recap`` that holds now; a message that is back by it, None if none is."""
        if recap is not None and recap.node.id not in self._done:
            # Made on an earlier day.
            self._done.insert(0, recap.node.id)
        while self._done:
            message = self._done.pop()
            if message not in self._stored.tree:
                continue  # A summary that was never finished.
            node = self._stored.tree.node(message)
            if node.role is not Role.SYSTEM:
                self._stored.restore(message)
                return message
            if node.deleted is None:
                self._stored.delete(message)
                return node.parent or message
        return None
