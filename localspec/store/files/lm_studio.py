"""The importer of LM Studio's ``*.conversation.json``: a list of messages with one selected version each.

A message becomes the child of the previous one's selected version. Reasoning blocks and notes of the program are left
out.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from localspec.runtime.messages import Role
from localspec.store.documents import ConversationDocument, Heading, MessageDocument
from localspec.store.files.json_reader import JsonValue
from localspec.store.titles import UNTITLED, title_of
from localspec.store.tree import Node

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}


def conversations_of(whole: JsonValue, name: str, written: datetime) -> list[ConversationDocument]:
    """The one conversation of a file; ``name`` and ``written`` are the name and time of the file. Raises Malformed."""
    created = whole.get("createdAt").seconds(1e-3) or written
    nodes: list[Node] = []
    parent: str | None = None
    for message in whole.get("messages").items():
        versions = list(_versions(message, parent, created))
        nodes += [node for _, node in versions]
        selected = message.get("currentlySelected").data
        kept = [node for index, node in versions if index == selected] or [node for _, node in versions[-1:]]
        parent = kept[0].id if kept else parent
    title = whole.get("name").text_or_none()
    question = next((node.content for node in nodes if node.role is Role.USER), "")
    heading = Heading(
        id="",
        created=created,
        updated=max(created, written),
        title=title or (title_of(question) if question else UNTITLED),
        title_given=bool(title),
        system=whole.get("systemPrompt").text_or_none() or None,
        pinned=whole.get("pinned").flag(),
        leaf=parent,
        source=f"lm-studio:{whole.get('createdAt').data or name}",
    )
    return [ConversationDocument(heading, tuple(MessageDocument(node) for node in nodes))]


def _versions(message: JsonValue, parent: str | None, begun: datetime) -> Iterator[tuple[int, Node]]:
    """The versions with text, each with its index."""
    for index, version in enumerate(message.get("versions").items()):
        role = version.get("role")
        text = "".join(_texts(version))
        if role.text() in _ROLES and text.strip():
            yield index, Node(version.place, parent, _ROLES[role.text()], text, begun)


def _texts(version: JsonValue) -> Iterator[str]:
    """The texts of a version with one step or several."""
    yield from _blocks(version.get("content"))
    for step in version.get("steps").items():
        if step.get("type").data == "contentBlock" and not _is_reasoning(step):
            yield from _blocks(step.get("content"))


def _is_reasoning(step: JsonValue) -> bool:
    style = step.get("style").data
    return isinstance(style, dict) and style.get("type") == "thinking"


def _blocks(content: JsonValue) -> Iterator[str]:
    if isinstance(content.data, str):
        yield content.data
        return
    for block in content.items():
        if block.get("type").data == "text":
            yield block.get("text").text()
        elif block.get("type").data == "file":
            yield f"[file {block.get('fileIdentifier').data or ''}".rstrip() + "]\n"
