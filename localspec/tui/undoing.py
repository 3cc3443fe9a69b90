"""What can be undone in a conversation: messages that were deleted, and summaries that were made."""

from __future__ import annotations

from localspec.chat import Role
from localspec.store import Node, Recap, StoredConversation


class Undoing:
    """The latest first, and after what was done here what was done before; nothing is ever destroyed, or too old."""

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
        while self._done:
            message = self._done.pop()
            if message not in self._stored.tree:
                continue  # A summary that was never finished.
            node = self._stored.tree.node(message)
            if node.role is not Role.SYSTEM:
                self._stored.restore(message)
                return message
            if node.deleted is None:
                return self._tell_in_full(node)
        return self._undo_earlier(recap)

    def _undo_earlier(self, recap: Recap | None) -> str | None:
        """What was done before the conversation was opened is known by what is stored."""
        deleted = {node.id: node.deleted for node in self._stored.tree.nodes if node.role is not Role.SYSTEM}
        moments = {message: moment for message, moment in deleted.items() if moment is not None}
        latest = max(moments, key=moments.__getitem__, default=None)
        if recap is not None and (latest is None or recap.node.created > moments[latest]):
            return self._tell_in_full(recap.node)
        if latest is not None:
            self._stored.restore(latest)
        return latest

    def _tell_in_full(self, summary: Node) -> str:
        self._stored.delete(summary.id)
        return summary.parent or summary.id
