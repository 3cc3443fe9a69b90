"""The mapping of conversations to rows and back; only this module names columns for reading and writing."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from localspec.base.errors import LocalSpecError, NotFoundError
from localspec.base.typed_json import known_fields
from localspec.config import Value
from localspec.config.lookup import valid_settings
from localspec.engine.events import Finished, Round, Started
from localspec.engine.wire import event_to_dict
from localspec.runtime.messages import Role, ToolCall
from localspec.store import provenance
from localspec.store.database import Database, Row, Statement, loaded, storable
from localspec.store.documents import ConversationDocument, Heading, ListedConversation, MessageDocument
from localspec.store.replies import ReplyPart
from localspec.store.replies_json import (
    MALFORMED,
    about_from_json,
    about_to_dict,
    error_from_dict,
    error_to_dict,
    finished_from_dict,
    fitting,
    started_from_dict,
)
from localspec.store.timestamps import from_micros, to_micros
from localspec.store.tree import Node, ReplyState, placed

_HEADING = (
    "id, created, updated, title, title_given, system, pinned, deleted, leaf, source, settings, folder, tags, archived"
)
_CHUNKS = "(SELECT content FROM chunk WHERE message = m.id ORDER BY number)"
_LAST_PART = "FROM reply WHERE message = m.id ORDER BY part DESC LIMIT 1"
_NODES = f"""
    SELECT m.id, m.parent, m.role, m.created, m.deleted, (SELECT state {_LAST_PART}), m.call,
        (SELECT CAST(begin + max(0, iif(json_valid(finished), json_extract(finished, '$.said_n'), NULL)) AS INTEGER)
            {_LAST_PART}),
        m.content || coalesce((SELECT group_concat(content, '') FROM {_CHUNKS}), '')
    FROM message m WHERE m.conversation = ? ORDER BY m.number
"""
_PARTS = """
    SELECT reply.message, part, state, begin, about, started, rounds, finished, error
    FROM reply JOIN message ON message.id = reply.message WHERE {where} ORDER BY message.number, part
"""


def insert_heading(heading: Heading) -> Statement:
    """The statement that inserts a conversation."""
    values = (
        heading.id,
        to_micros(heading.created),
        to_micros(heading.updated),
        storable(heading.title),
        heading.title_given,
        None if heading.system is None else storable(heading.system),
        heading.pinned,
        None if heading.deleted is None else to_micros(heading.deleted),
        heading.leaf,
        None if heading.source is None else storable(heading.source),
        json.dumps(heading.settings, separators=(",", ":")) if heading.settings else None,
        storable(heading.folder),
        storable(" ".join(heading.tags)),
        heading.archived,
    )
    return f"INSERT INTO conversation ({_HEADING}) VALUES ({', '.join('?' * len(values))})", values


def update_heading(before: Heading, now: Heading) -> Statement | None:
    """The statement that updates the changed columns, as another program may change others; None if none changed."""
    names = _HEADING.split(", ")
    changed = {
        name: value
        for name, value, old in zip(names, insert_heading(now)[1], insert_heading(before)[1], strict=True)
        if value != old
    }
    if not changed:
        return None
    columns = ", ".join(f"{name} = ?" for name in changed)
    return f"UPDATE conversation SET {columns} WHERE id = ?", (*changed.values(), now.id)


def undelete(conversation: str) -> Statement:
    """The statement that restores a deleted conversation."""
    return "UPDATE conversation SET deleted = NULL WHERE id = ?", (conversation,)


def insert_node(conversation: str, node: Node) -> Statement:
    """The statement that inserts a message, whose parent must exist."""
    return (
        "INSERT INTO message (id, conversation, parent, role, created, deleted, content, call) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            node.id,
            conversation,
            node.parent,
            node.role,
            to_micros(node.created),
            None if node.deleted is None else to_micros(node.deleted),
            storable(node.content),
            None if node.call is None else json.dumps(asdict(node.call)),
        ),
    )


def update_deleted(node: Node) -> Statement:
    """The statement that marks a message as deleted or restored."""
    deleted = None if node.deleted is None else to_micros(node.deleted)
    return "UPDATE message SET deleted = ? WHERE id = ?", (deleted, node.id)


def update_content(message: str, content: str) -> Statement:
    return "UPDATE message SET content = ? WHERE id = ?", (storable(content), message)


def insert_part(message: str, number: int, part: ReplyPart, writer: str | None = None) -> Statement:
    """The statement that inserts a part of a reply."""
    return (
        """INSERT INTO reply (message, part, state, writer, begin, about, started, rounds, finished, error)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            message,
            number,
            part.state,
            writer,
            part.begin,
            json.dumps(about_to_dict(part.about), separators=(",", ":")),
            _event(part.started),
            provenance.record([provenance.frame(part.rounds)]) if part.rounds else None,
            _event(part.finished),
            _error(part.error),
        ),
    )


def start_part(message: str, number: int, started: Started) -> Statement:
    """The statement that stores the Started event of a part."""
    return "UPDATE reply SET started = ? WHERE message = ? AND part = ?", (_event(started), message, number)


def end_part(
    message: str, number: int, state: ReplyState, rounds: bytes, finished: Finished | None, error: LocalSpecError | None
) -> Statement:
    """The statement that ends a part."""
    return (
        "UPDATE reply SET state = ?, rounds = ?, finished = ?, error = ? WHERE message = ? AND part = ?",
        (state, rounds, _event(finished), _error(error), message, number),
    )


def headings(database: Database, *, deleted: bool) -> list[ListedConversation]:
    """The conversations, pinned ones first, then by the time of the last message."""
    rows = database.query(
        f"""SELECT {_HEADING},
            (SELECT count(*) FROM message
                WHERE conversation = conversation.id AND message.deleted IS NULL AND role <> 'system')
        FROM conversation WHERE (deleted IS NOT NULL) = ? ORDER BY pinned DESC, updated DESC, number DESC""",
        (deleted,),
    )
    return [ListedConversation(_heading(row[:-1]), row[-1]) for row in rows]


def numbered_headings(database: Database) -> list[tuple[int, Heading]]:
    """All conversations that are not deleted, each with the number of its row."""
    found = database.query(f"SELECT {_HEADING}, number FROM conversation WHERE deleted IS NULL")
    return [(row[-1], _heading(row[:-1])) for row in found]


def heading_of(database: Database, conversation: str) -> Heading:
    """The heading of a conversation. Raises NotFoundError."""
    rows = database.query(f"SELECT {_HEADING} FROM conversation WHERE id = ?", (conversation,))
    if not rows:
        raise NotFoundError(f"There is no conversation {conversation}.", "`localspec history list` shows all of them.")
    return _heading(rows[0])


def nodes_of(database: Database, conversation: str) -> list[Node]:
    """All messages, oldest first, with the stored text of one that is being written; they make a tree."""
    found = database.query(_NODES, (conversation,))
    return placed(
        Node(
            node,
            parent,
            _role(role, call, state),
            content,
            from_micros(created),
            _moment(deleted),
            None if state is None else _state(state),
            _call(role, call),
            said_n,
        )
        for node, parent, role, created, deleted, state, call, said_n, content in found
    )


def _role(stored: str, call: str | None, state: str | None) -> Role:
    """The role in a column; for one that is unknown or contradicts the others, the role that these suggest."""
    if call is not None:
        return Role.TOOL
    if stored in tuple(Role):
        return Role(stored)
    return Role.USER if state is None else Role.ASSISTANT


def _state(stored: str) -> ReplyState:
    return ReplyState(stored) if stored in tuple(ReplyState) else ReplyState.CUT_OFF


def _call(role: str, stored: str | None) -> ToolCall | None:
    """The call in a column of JSON; a damaged one has no name, and what is stored as its arguments."""
    if stored is None:
        return ToolCall("", "", "") if role == Role.TOOL else None
    try:
        return fitting(ToolCall(**known_fields(ToolCall, json.loads(stored))))
    except MALFORMED:
        return ToolCall("", "", stored)


def parts_of(database: Database, node: Node) -> tuple[ReplyPart, ...]:
    """The parts of a reply; empty if no model wrote it."""
    texts = {node.id: node.content}
    return _parts(database, "reply.message = ?", node.id, texts, tolerant=False).get(node.id, ())


def next_part(database: Database, node: Node) -> int | None:
    """The number of a reply's next part; None if another program has changed the reply, or is writing it."""
    found = database.query(
        f"""SELECT content, (SELECT state {_LAST_PART}),
            (SELECT coalesce(max(part) + 1, 0) FROM reply WHERE message = m.id) FROM message m WHERE id = ?""",
        (node.id,),
    )
    for content, state, number in found:
        if state == ReplyState.WRITING or content != storable(node.content):
            return None
        return int(number)
    return 0


def document_of(database: Database, conversation: str) -> ConversationDocument:
    """A whole conversation, without rounds and parts of replies that cannot be read. Raises NotFoundError."""
    heading = heading_of(database, conversation)
    nodes = nodes_of(database, conversation)
    texts = {node.id: node.content for node in nodes}
    parts = _parts(database, "message.conversation = ?", conversation, texts, tolerant=True)
    return ConversationDocument(heading, tuple(MessageDocument(node, parts.get(node.id, ())) for node in nodes))


def insert_document(document: ConversationDocument) -> list[Statement]:
    """The statements that insert a whole conversation."""
    statements = [insert_heading(document.heading)]
    for message in document.messages:
        statements.append(insert_node(document.heading.id, message.node))
        statements += [insert_part(message.node.id, number, part) for number, part in enumerate(message.parts)]
    return statements


def _parts(
    database: Database, where: str, value: str, texts: dict[str, str], *, tolerant: bool
) -> dict[str, tuple[ReplyPart, ...]]:
    """The parts of replies by message. Raises ValueError for damaged ones, unless it is ``tolerant`` of them."""
    found: defaultdict[str, list[ReplyPart]] = defaultdict(list)
    for message, _, state, begin, about, started, rounds, finished, error in database.query(
        _PARTS.format(where=where), (value,)
    ):
        stored = provenance.record(_chunks(database, message)) if state == ReplyState.WRITING else rounds
        read_rounds = _readable_rounds if tolerant else provenance.rounds_of
        try:
            part = ReplyPart(
                about=about_from_json(about),
                state=_state(state),
                begin=min(max(0, begin), len(texts[message])),
                started=fitting(started_from_dict(loaded(started))),
                finished=fitting(finished_from_dict(loaded(finished))),
                error=error_from_dict(loaded(error)),
            )
            part = replace(part, rounds=read_rounds(stored, texts[message][part.begin :]) if stored else ())
        except MALFORMED as fault:
            if not tolerant:
                raise ValueError(f"a part of a stored reply is damaged: {fault}") from fault
        else:
            found[message].append(part)
    return {message: tuple(parts) for message, parts in found.items()}


def _readable_rounds(stored: bytes, text: str) -> tuple[Round, ...]:
    """The rounds; none if they are damaged or of a newer version."""
    try:
        return provenance.rounds_of(stored, text)
    except ValueError:
        return ()


def _chunks(database: Database, message: str) -> list[bytes]:
    """The stored frames of a reply that is being written."""
    return [
        chunk for (chunk,) in database.query("SELECT rounds FROM chunk WHERE message = ? ORDER BY number", (message,))
    ]


def _heading(row: Row) -> Heading:
    conversation, created, updated, title, title_given, system, pinned, deleted, leaf, source, settings, *filing = row
    folder, tags, archived = filing
    return Heading(
        id=conversation,
        created=from_micros(created),
        updated=from_micros(updated),
        title=title,
        title_given=bool(title_given),
        system=system,
        pinned=bool(pinned),
        deleted=_moment(deleted),
        leaf=leaf,
        source=source,
        settings=_settings(settings),
        folder=folder,
        tags=tuple(tags.split()),
        archived=bool(archived),
    )


def _settings(stored: str | None) -> dict[str, Value]:
    """The valid settings in a column of JSON; none if it is damaged."""
    try:
        return valid_settings(loaded(stored))
    except (ValueError, RecursionError):
        return {}


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _event(event: Any) -> str | None:
    return None if event is None else json.dumps(event_to_dict(event), separators=(",", ":"))


def _error(error: LocalSpecError | None) -> str | None:
    return None if error is None else json.dumps(error_to_dict(error), separators=(",", ":"))
