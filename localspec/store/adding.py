"""The import of whole conversations into the database, all or none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from localspec.store import rows
from localspec.store.database import Database, storable
from localspec.store.documents import ConversationDocument
from localspec.store.ids import Ids
from localspec.store.replies import ReplyMetadata

_OWN_ID = re.compile("[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Added:
    """The result of an import: ids of conversations."""

    new: tuple[str, ...]
    known: tuple[str, ...]
    """Conversations that were already here, by id or by source, and stay as they are."""


def add(database: Database, documents: Sequence[ConversationDocument], ids: Ids, *, copies: bool) -> Added:
    """Store conversations. One that is already here is skipped, unless ``copies`` are wanted or it was deleted.

    Ids that are in use or of another form than ours are replaced. Raises StoreError.
    """
    new, known = [], []
    with database.transaction() as connection:
        here = _here(database)
        for document in documents:
            heading = document.heading
            source = storable(heading.source or "")
            same = here.get(heading.id) or here.get(source)
            if same is not None and not copies:
                known.append(same)
                continue
            fresh = document if _is_free(database, document) else renamed(document, ids, copied=same is not None)
            if fresh is not document and not copies and not heading.source:
                # A deleted conversation has the id: keep it as the source, to recognise this one in a later import.
                fresh = replace(fresh, heading=replace(fresh.heading, source=heading.id or None))
            for sql, parameters in rows.insert_document(fresh):
                connection.execute(sql, parameters)
            here |= {name: fresh.heading.id for name in (fresh.heading.id, source) if name}
            new.append(fresh.heading.id)
    return Added(tuple(new), tuple(known))


def renamed(document: ConversationDocument, ids: Ids, *, copied: bool) -> ConversationDocument:
    """The conversation with new ids. Its replies count for no trial: the same evidence would count twice.

    ``copied`` says that it is here already, so that its replies do not count in statistics either.
    """
    new: dict[str | None, str | None] = {None: None}
    messages = []
    for message in document.messages:
        own = new[message.node.id] = ids()
        node = replace(message.node, id=own, parent=new[message.node.parent])
        parts = tuple(replace(part, about=_uncounted(part.about, copied=copied)) for part in message.parts)
        messages.append(replace(message, node=node, parts=parts))
    heading = replace(document.heading, id=ids(), leaf=new.get(document.heading.leaf))
    return ConversationDocument(heading, tuple(messages))


def _uncounted(about: ReplyMetadata, *, copied: bool) -> ReplyMetadata:
    return replace(about, trial=None, arm=None, copied=copied or about.copied)


def _here(database: Database) -> dict[str, str]:
    """The ids of conversations that are not deleted, by id and by source."""
    found = database.query("SELECT id, source FROM conversation WHERE deleted IS NULL")
    return {str(name): str(own) for own, source in found for name in (own, source) if name}


def _is_free(database: Database, document: ConversationDocument) -> bool:
    """True if its ids have our form and are not in use."""
    ids = {message.node.id for message in document.messages}
    if not all(map(_OWN_ID.fullmatch, (document.heading.id, *ids))):
        return False
    conversation = database.query("SELECT 1 FROM conversation WHERE id = ?", (document.heading.id,))
    return not conversation and not any(database.query("SELECT 1 FROM message WHERE id = ?", (own,)) for own in ids)
