"""LocalSpec's own JSON format, complete enough that an export imports as the same conversations.

One object: ``format``, ``version``, and ``conversations``, each with its ``messages``, every parent before its
children, and the ``images`` that they name, as base64 of PNG by their digests. A message of the system is a summary of
all above it. ``reply`` has the parts of a reply, with their rounds in the form of ``localspec run --json``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from localspec.base.typed_json import misfit
from localspec.config.lookup import valid_settings, without_files
from localspec.runtime.messages import Role, ToolCall
from localspec.store import provenance
from localspec.store.documents import ConversationDocument, Heading, MessageDocument
from localspec.store.files.images import images_of, keep_images
from localspec.store.files.json_reader import JsonValue
from localspec.store.filing import folder_name, tag_names
from localspec.store.replies import ReplyPart
from localspec.store.replies_json import part_from_dict, part_to_dict
from localspec.store.timestamps import to_iso
from localspec.store.titles import UNTITLED
from localspec.store.tree import Node, ReplyState

FORMAT = "localspec-conversations"
VERSION = 1


def to_json(documents: Sequence[ConversationDocument]) -> str:
    """The JSON text of whole conversations."""
    whole = {"format": FORMAT, "version": VERSION, "conversations": [conversation_to_dict(each) for each in documents]}
    return json.dumps(whole, indent=1, ensure_ascii=False)


def conversation_to_dict(document: ConversationDocument) -> dict[str, Any]:
    """A conversation with all its messages."""
    messages = [message_to_dict(message) for message in document.messages]
    images = images_of(message.node.content for message in document.messages)
    return {**heading_to_dict(document.heading), "messages": messages} | ({"images": images} if images else {})


def heading_to_dict(heading: Heading) -> dict[str, Any]:
    """The fields of a heading, as in listings."""
    return {
        "id": heading.id,
        "title": heading.title,
        "title_given": heading.title_given,
        "created": to_iso(heading.created),
        "updated": to_iso(heading.updated),
        "deleted": _iso(heading.deleted),
        "pinned": heading.pinned,
        "system": heading.system,
        "leaf": heading.leaf,
        "source": heading.source,
        "folder": heading.folder,
        "tags": list(heading.tags),
        "archived": heading.archived,
        "settings": dict(heading.settings),
    }


def message_to_dict(message: MessageDocument) -> dict[str, Any]:
    """A message with the parts of its reply."""
    return {**node_to_dict(message.node), "reply": [part_to_dict(part) for part in message.parts]}


def node_to_dict(node: Node) -> dict[str, Any]:
    """A message without its reply."""
    return {
        "id": node.id,
        "parent": node.parent,
        "role": node.role,
        "created": to_iso(node.created),
        "deleted": _iso(node.deleted),
        "state": node.state,
        "content": node.content,
        **({"call": asdict(node.call)} if node.call is not None else {}),
        **({"said_n": node.said_n} if node.said_n is not None else {}),
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else to_iso(moment)


def conversations_of(whole: JsonValue) -> list[ConversationDocument]:
    """Parse the object of ``to_json``. Raises Malformed."""
    version = whole.get("version")
    if version.data != VERSION:
        raise version.refuse(f"is {version.data!r}; this LocalSpec reads {VERSION}")
    return [_conversation(each) for each in whole.get("conversations").items()]


def _conversation(data: JsonValue) -> ConversationDocument:
    created, updated = data.get("created").moment(), data.get("updated").moment()
    if created is None:
        raise data.get("created").refuse("is missing")
    heading = Heading(
        id=data.get("id").text(),
        created=created,
        updated=updated or created,
        title=data.get("title").text_or_none() or UNTITLED,
        title_given=data.get("title_given").flag(),
        system=data.get("system").text_or_none(),
        pinned=data.get("pinned").flag(),
        leaf=data.get("leaf").text_or_none(),
        source=data.get("source").text_or_none(),
        folder=folder_name(data.get("folder").text_or_none() or ""),
        tags=tag_names(each.text() for each in data.get("tags").items()),
        archived=data.get("archived").flag(),
        settings=without_files(valid_settings(data.get("settings").data)),
    )
    messages = tuple(_message(each, created) for each in data.get("messages").items())
    keep_images(data.get("images"), (message.node.content for message in messages))
    return ConversationDocument(heading, messages)


def _message(data: JsonValue, begun: datetime) -> MessageDocument:
    role = data.get("role")
    if role.text() not in tuple(Role):
        raise role.refuse(f"is {role.data!r}, not 'user', 'assistant', 'tool' or 'system'")
    content = data.get("content").text()
    parts = tuple(_part(each, content) for each in data.get("reply").items())
    node = Node(
        id=data.get("id").text(),
        parent=data.get("parent").text_or_none(),
        role=Role(role.text()),
        content=content,
        created=data.get("created").moment() or begun,
        deleted=data.get("deleted").moment(),
        state=parts[-1].state if parts else None,
        call=_call(data.get("call")) if role.text() == Role.TOOL else None,
        said_n=parts[-1].said_n if parts else None,
    )
    return MessageDocument(node, parts)


def _call(data: JsonValue) -> ToolCall:
    return ToolCall(data.get("id").text(), data.get("name").text(), data.get("arguments").text())


def _part(data: JsonValue, content: str) -> ReplyPart:
    mapping = data.mapping()
    try:
        part = part_from_dict(mapping)
        found = misfit(part)
        provenance.frame(part.rounds if found is None else ())
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise data.refuse(f"is not a part of a reply ({type(error).__name__}: {error})") from error
    if found is not None:
        raise data.refuse(f"is not a part of a reply ({found} has another form)")
    if not all(each.tokens for each in part.rounds):
        raise data.get("rounds").refuse("have one without tokens")
    if not content.startswith("".join(token.text for token in part.tokens), part.begin):
        raise data.get("rounds").refuse("have tokens that are not the text of the message")
    if part.state is ReplyState.WRITING:
        raise data.get("state").refuse("is 'writing': wait for the end of the reply, and export it again")
    return part
