"""The importer of ChatGPT's ``conversations.json``: a list of conversations, each a mapping of linked nodes.

Messages of the user and the assistant are imported, with all branches. Nodes of tools, hidden instructions and empty
nodes are skipped, and their children move up one level. Pictures and the like become a word in brackets.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from localspec.runtime.messages import Role
from localspec.store.documents import ConversationDocument, Heading, MessageDocument
from localspec.store.files.json_reader import JsonValue, Malformed
from localspec.store.titles import UNTITLED
from localspec.store.tree import Node

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_NOT_FOR_READERS = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context", "tether_quote")


def conversations_of(whole: JsonValue) -> list[ConversationDocument]:
    """The conversations of a file, which is a list of them or a single one. Raises Malformed."""
    each = whole.items() if isinstance(whole.data, list) else iter([whole])
    return [_conversation(data) for data in each]


def _conversation(data: JsonValue) -> ConversationDocument:
    created = data.get("create_time").seconds()
    updated = data.get("update_time").seconds() or created
    if created is None or updated is None:
        raise data.get("create_time").refuse("is missing")
    title = data.get("title").text_or_none()
    nodes, replaced = _nodes(data.get("mapping"), created)
    current = data.get("current_node").text_or_none()
    own_id = data.get("conversation_id").text_or_none() or data.get("id").text_or_none()
    heading = Heading(
        id=own_id or "",
        created=created,
        updated=updated,
        title=title or UNTITLED,
        title_given=bool(title),
        system=_system(data.get("mapping")),
        leaf=replaced.get(current or ""),
        source=f"chatgpt:{own_id}" if own_id else None,
    )
    return ConversationDocument(heading, tuple(MessageDocument(node) for node in nodes))


def _nodes(mapping: JsonValue, begun: datetime) -> tuple[list[Node], dict[str, str | None]]:
    """The imported nodes, parents first, and for every node of the mapping its replacement."""
    nodes: list[Node] = []
    stands_for: dict[str, str | None] = {}
    for name, parent in _walk(mapping):
        above = stands_for.get(parent) if parent is not None else None
        node = _node(name, mapping.get(name).get("message"), above, begun)
        stands_for[name] = above if node is None else node.id
        if node is not None:
            nodes.append(node)
    return nodes, stands_for


def _walk(mapping: JsonValue) -> Iterator[tuple[str, str | None]]:
    """Every node with its parent, depth first from the roots. Raises Malformed unless they are trees."""
    known = mapping.mapping()
    parents = {name: mapping.get(name).get("parent").text_or_none() for name in known}
    steps: list[tuple[str, str | None]] = [(name, None) for name in known if parents[name] not in known]
    steps.reverse()
    seen: set[str] = set()
    while steps:
        name, parent = steps.pop()
        if name in seen:
            raise mapping.get(name).refuse("is reached twice")
        seen.add(name)
        yield name, parent
        children = [child.text() for child in mapping.get(name).get("children").items()]
        steps += [(child, name) for child in reversed(children) if child in known]
    if len(seen) < len(known):
        lost = next(name for name in known if name not in seen)
        raise mapping.get(lost).refuse("cannot be reached from a first message")


def _node(name: str, message: JsonValue, parent: str | None, begun: datetime) -> Node | None:
    """The imported node; None for one that is not shown."""
    if message.data is None:
        return None
    role = _ROLES.get(message.get("author").get("role").text())
    text = _text(message.get("content")) if role is not None else ""
    if role is None or not text.strip():
        return None
    return Node(name, parent, role, text, message.get("create_time").seconds() or begun)


def _text(content: JsonValue) -> str:
    if content.data is None or content.get("content_type").data in _NOT_FOR_READERS:
        return ""
    if content.get("parts").data is None:
        return content.get("text").text_or_none() or ""
    return "\n\n".join(filter(None, map(_part, content.get("parts").items())))


def _part(part: JsonValue) -> str:
    if isinstance(part.data, str):
        return part.data
    if isinstance(part.data, dict):
        text = part.data.get("text")
        kind = str(part.data.get("content_type", "attachment")).removesuffix("_asset_pointer").replace("_", " ")
        return text if isinstance(text, str) else f"[{kind}]"
    if part.data is None:
        return ""
    raise part.refuse("is neither text nor an attachment")


def _system(mapping: JsonValue) -> str | None:
    """The first system message with text, if any."""
    for name in mapping.mapping():
        message = mapping.get(name).get("message")
        try:
            if message.data is not None and message.get("author").get("role").data == "system":
                text = _text(message.get("content")).strip()
                if text:
                    return text
        except Malformed:
            continue
    return None
