"""ChatGPT's ``conversations.json``: a list of conversations, each a mapping of nodes that name parent and children.

Messages of people and of the assistant are taken, with all branches; tools, hidden instructions and empty nodes are
passed over, and what followed them stands one level higher. Pictures and the like leave a word in brackets.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from localspec.runtime.messages import Role
from localspec.store.documents import ConversationDocument, Heading, MessageDocument
from localspec.store.files.json_reader import Malformed, Value
from localspec.store.titles import UNTITLED
from localspec.store.tree import Node

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_NOT_FOR_READERS = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context", "tether_quote")


def conversations_of(whole: Value) -> list[ConversationDocument]:
    """All of them; one conversation alone will do too. Raises Malformed."""
    each = whole.items() if isinstance(whole.data, list) else iter([whole])
    return [_conversation(data) for data in each]


def _conversation(data: Value) -> ConversationDocument:
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


def _nodes(mapping: Value, begun: datetime) -> tuple[list[Node], dict[str, str | None]]:
    """Parents first; and for every node of the mapping the one that stands for it."""
    nodes: list[Node] = []
    stands_for: dict[str, str | None] = {}
    for name, parent in _cursor(mapping):
        above = stands_for.get(parent) if parent is not None else None
        node = _node(name, mapping.get(name).get("message"), above, begun)
        stands_for[name] = above if node is None else node.id
        if node is not None:
            nodes.append(node)
    return nodes, stands_for


def _cursor(mapping: Value) -> Iterator[tuple[str, str | None]]:
    """Every node that can be reached from a root, with its parent, in the order of the children."""
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
        raise mapping.get(lost).refuse("hangs in the air: no first message leads to it")


def _node(name: str, message: Value, parent: str | None, begun: datetime) -> Node | None:
    """None for what is no message to readers."""
    if message.data is None:
        return None
    role = _ROLES.get(message.get("author").get("role").text())
    text = _text(message.get("content")) if role is not None else ""
    if role is None or not text.strip():
        return None
    return Node(name, parent, role, text, message.get("create_time").seconds() or begun)


def _text(content: Value) -> str:
    if content.data is None or content.get("content_type").data in _NOT_FOR_READERS:
        return ""
    if content.get("parts").data is None:
        return content.get("text").text_or_none() or ""
    return "\n\n".join(filter(None, map(_part, content.get("parts").items())))


def _part(part: Value) -> str:
    if isinstance(part.data, str):
        return part.data
    if isinstance(part.data, dict):
        text = part.data.get("text")
        kind = str(part.data.get("content_type", "attachment")).removesuffix("_asset_pointer").replace("_", " ")
        return text if isinstance(text, str) else f"[{kind}]"
    if part.data is None:
        return ""
    raise part.refuse("is neither text nor an attachment")


def _system(mapping: Value) -> str | None:
    """The instructions that were written for this conversation, if any."""
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
