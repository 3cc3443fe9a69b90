"""Undoing what was deleted or summarised last, for every front end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from localspec.base.errors import NotFoundError
from localspec.runtime.messages import Role
from localspec.store import Node, Store, StoredConversation


@dataclass(frozen=True, slots=True)
class Undone:
    """One step that was undone."""

    conversation: StoredConversation
    """The conversation that is back, or in which a turn is back or a summary gone."""
    message: Node | None = None
    """The first message of the turn that is back, or the summary; None for a whole conversation."""

    @property
    def is_summary(self) -> bool:
        return self.message is not None and self.message.role is Role.SYSTEM


class DeletedConversations:
    """The whole conversations that were deleted in this program, and can be brought back in reverse order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._deleted: list[tuple[tuple[str, ...], StoredConversation]] = []
        """The ids of each deletion, and the last of these conversations."""

    @property
    def last_at(self) -> datetime | None:
        """The time of the last deletion; None without any."""
        return self._deleted[-1][1].heading.deleted if self._deleted else None

    def delete(self, *conversations: str) -> None:
        """Delete conversations by their ids, to be brought back together. Raises StoreError."""
        self._store.delete(*conversations)
        self._deleted.append((conversations, self._store.open_conversation(conversations[-1])))

    def restore(self) -> StoredConversation | None:
        """Bring back those deleted last, and return the last of them; None without any.

        Raises StoreError, after which they can be brought back later, and NotFoundError if they are gone for good.
        """
        if not self._deleted:
            return None
        conversations, last = self._deleted[-1]
        try:
            self._store.restore(*conversations)
        except NotFoundError:
            self._deleted.pop()
            raise
        self._deleted.pop()
        return last
