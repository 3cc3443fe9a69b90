"""The tree of a conversation's messages, in all versions.

A message that is edited or answered again gets a sibling, and what follows the first version stays below it. One node
is the current leaf; the reader sees the path from the root to it. A deleted node is skipped, as if its children stood
one level higher, so that no branch is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import takewhile

from localspec.runtime.messages import Message, Role, ToolCall


class ReplyState(StrEnum):
    """The state of a reply."""

    WRITING = "writing"
    """It is being written, or its program died and that was not noticed yet."""
    DONE = "done"
    """It ended: by itself, at a limit, or on request."""
    FAILED = "failed"
    """It ended with an error."""
    CUT_OFF = "cut off"
    """The program died during the reply; the stored text is all of it."""


@dataclass(frozen=True, slots=True)
class Node:
    """One version of one message."""

    id: str
    parent: str | None
    """None for a first message."""
    role: Role
    content: str
    """The text. While a reply is being written, the text before it; its recorder has the rest."""
    created: datetime
    deleted: datetime | None = None
    """The time of its deletion, which all nodes of a deleted turn share."""
    state: ReplyState | None = None
    """None unless a model wrote it."""
    call: ToolCall | None = None
    """The call that a message of the role tool answers; None for all others."""
    said_n: int | None = None
    """Characters of a reply before the text of its calls; None if it makes none."""

    @property
    def said(self) -> str:
        """The text without that of calls, which their results stand for."""
        return self.content[: self.said_n]


class Tree:
    """The nodes in the order of their creation; every parent comes before its children."""

    def __init__(self, nodes: Iterable[Node] = (), leaf: str | None = None) -> None:
        """Raises ValueError if a parent is missing or comes after its child, or an id comes twice."""
        self._nodes: dict[str, Node] = {}
        self._children: dict[str | None, list[str]] = {None: []}
        for node in nodes:
            self.add(node)
        self._leaf: str | None = None
        if leaf is not None:
            self.go_to(leaf if leaf in self._nodes else self.newest_leaf(None))

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, node_id: str) -> bool:
        return node_id in self._nodes

    @property
    def leaf(self) -> str | None:
        """The end of the shown path, and parent of the next message; None at the beginning."""
        return self._leaf

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, deleted ones included."""
        return tuple(self._nodes.values())

    def node(self, node_id: str) -> Node:
        """The node of an id. Raises KeyError."""
        return self._nodes[node_id]

    def add(self, node: Node) -> None:
        """Add the newest node; the leaf stays.

        Raises ValueError as the constructor, for a misplaced summary, and for a result without its call.
        """
        if node.id in self._nodes:
            raise ValueError(f"the message {node.id} occurs twice")
        if node.parent not in self._children:
            raise ValueError(f"the message {node.id} follows {node.parent}, which does not come before it")
        if node.parent is None and node.role is Role.SYSTEM:
            raise ValueError(f"the summary {node.id} has no messages above it")
        if node.parent is not None and self._nodes[node.parent].role is Role.SYSTEM:
            raise ValueError(f"the message {node.id} follows a summary")
        if (node.role is Role.TOOL) != (node.call is not None):
            raise ValueError(f"the message {node.id} is the result of a call, and has none")
        self._nodes[node.id] = node
        self._children[node.id] = []
        self._children[node.parent].append(node.id)

    def replace(self, node: Node) -> None:
        """Replace a node by a changed one with the same parent. Raises KeyError."""
        assert self._nodes[node.id].parent == node.parent
        self._nodes[node.id] = node

    def path(self, leaf: str | None = None) -> tuple[Node, ...]:
        """The nodes from the first message to ``leaf``, by default the current one, without deleted ones."""
        steps: list[Node] = []
        step = self._leaf if leaf is None else leaf
        while step is not None:
            node = self._nodes[step]
            if node.deleted is None:
                steps.append(node)
            step = node.parent
        return tuple(reversed(steps))

    def summary(self, leaf: str | None = None) -> Node | None:
        """The latest complete summary on the path to ``leaf`` that is not deleted."""
        step = self._leaf if leaf is None else leaf
        while step is not None:
            for child in reversed(self._children[step]):
                node = self._nodes[child]
                if node.role is Role.SYSTEM and node.deleted is None and node.state in (None, ReplyState.DONE):
                    return node
            step = self._nodes[step].parent
        return None

    def children(self, node_id: str | None) -> tuple[Node, ...]:
        """The children of a node, oldest first; a deleted child is replaced by its own. None gives first messages.

        Summaries are left out.
        """
        found: list[Node] = []
        waiting = list(reversed(self._children[node_id]))
        while waiting:
            node = self._nodes[waiting.pop()]
            if node.role is Role.SYSTEM:
                continue
            if node.deleted is None:
                found.append(node)
            else:
                waiting.extend(reversed(self._children[node.id]))
        return tuple(found)

    def parent(self, node_id: str) -> str | None:
        """The nearest node above that is not deleted."""
        above = self._nodes[node_id].parent
        while above is not None and self._nodes[above].deleted is not None:
            above = self._nodes[above].parent
        return above

    def siblings(self, node_id: str) -> tuple[Node, ...]:
        """All versions of a message, itself included, oldest first."""
        return tuple(node for node in self.children(self.parent(node_id)) if node.role is self._nodes[node_id].role)

    def position(self, node_id: str) -> tuple[int, int]:
        """The number of a version and of all versions, as in 2/3. Raises ValueError for a deleted node."""
        ids = [node.id for node in self.siblings(node_id)]
        return ids.index(node_id) + 1, len(ids)

    def newest_leaf(self, node_id: str | None) -> str | None:
        """The end of the chain of newest children."""
        while children := self.children(node_id):
            node_id = children[-1].id
        return node_id

    def go_to(self, node_id: str | None) -> None:
        """Make a node the leaf; for a summary, its parent. Raises KeyError."""
        node = self._nodes[node_id] if node_id is not None else None
        self._leaf = node.parent if node is not None and node.role is Role.SYSTEM else node_id

    def choose(self, node_id: str) -> None:
        """Show a version: the leaf moves to the newest one below it, unless it is on the path already.

        For a summary, its parent is shown.
        """
        node = self._nodes[node_id]
        if node.role is Role.SYSTEM and node.parent is not None:
            node_id = node.parent
        if all(node.id != node_id for node in self.path()):
            self.go_to(self.newest_leaf(node_id))

    def turn(self, node_id: str) -> tuple[Node, ...]:
        """The turn of a node: a question with all its replies that are not deleted, their calls and what these led to.

        For a reply only itself and its calls, if the question has others or there is no question above it.
        """
        node = self._nodes[node_id]
        while node.role is not Role.USER and len(self.siblings(node.id)) == 1:
            above = self.parent(node.id)
            if above is None or not _goes_on(self._nodes[above], node):
                break
            node = self._nodes[above]
        found = [node]
        for each in found:
            found += [child for child in self.children(each.id) if _goes_on(each, child)]
        return tuple(found)

    def delete(self, node_id: str, at: datetime) -> tuple[Node, ...]:
        """Delete the turn of a node and return its changed nodes. What follows it stays.

        If the leaf is deleted, it moves to another version of the deleted reply or question, or else to the message
        before.
        """
        turn = self.turn(node_id)
        gone = tuple(replace(node, deleted=at) for node in turn)
        for node in gone:
            self.replace(node)
        if self._leaf in {node.id for node in gone}:
            self._leave(turn)
        return gone

    def _leave(self, turn: tuple[Node, ...]) -> None:
        above = self.parent(turn[0].id)
        others = [node for node in self.children(above) if node.role is turn[0].role]
        self.go_to(self.newest_leaf(others[-1].id) if others else above)

    def restore(self, node_id: str) -> tuple[Node, ...]:
        """Restore a node and those deleted with it, show it, and return the restored nodes."""
        at = self._nodes[node_id].deleted
        back = tuple(replace(node, deleted=None) for node in self.nodes if at is not None and node.deleted == at)
        for node in back:
            self.replace(node)
        self.choose(node_id)
        return back

    def deleted_last(self) -> Node | None:
        """The first message of the turn that was deleted last; None if none is deleted. Summaries do not count."""
        turns = [(node.deleted, node) for node in self.nodes if node.deleted and node.role is not Role.SYSTEM]
        return max(turns, key=lambda turn: turn[0])[1] if turns else None


def placed(nodes: Iterable[Node]) -> list[Node]:
    """The nodes so that they make a tree: where a row is damaged, one follows the message before it."""
    tree = Tree()
    before: str | None = None
    for node in nodes:
        try:
            tree.add(node)
        except ValueError:
            role = Role.ASSISTANT if node.role is Role.SYSTEM and before is None else node.role
            tree.add(replace(node, parent=before, role=role))
        if tree.node(node.id).role is not Role.SYSTEM:
            before = node.id
    return [*tree.nodes]


def chat_messages(system: str | None, path: Iterable[Node]) -> list[Message]:
    """The messages for the model: a path with its system prompt.

    Empty messages are left out, and so are questions without a reply, except the last. A reply has the calls whose
    results follow it, and no others.
    """
    path = list(path)
    called = {node.parent for node in path if node.call is not None}
    nodes = [node for node in path if node.content or node.call or node.id in called]
    messages = [Message(Role.SYSTEM, system)] if system else []
    for index, node in enumerate(nodes):
        unanswered = node.role is Role.USER and nodes[index + 1 : index + 2] and nodes[index + 1].role is Role.USER
        if node.call is not None:
            if messages and messages[-1].role in (Role.ASSISTANT, Role.TOOL):
                messages.append(Message(node.role, node.content, call_id=node.call.id, name=node.call.name))
        elif not unanswered:
            calls = _answered(nodes[index + 1 :]) if node.role is Role.ASSISTANT else ()
            messages.append(Message(node.role, node.said if calls else node.content, calls))
    return messages


def _answered(later: Sequence[Node]) -> tuple[ToolCall, ...]:
    """The calls of a reply that have results: those of the messages right after it."""
    return tuple(node.call for node in takewhile(lambda node: node.call is not None, later) if node.call is not None)


def _goes_on(above: Node, below: Node) -> bool:
    """True if a message goes on with the turn of the one above it."""
    if below.role is Role.TOOL:
        return above.role in (Role.ASSISTANT, Role.TOOL)
    return below.role is Role.ASSISTANT and above.role in (Role.USER, Role.TOOL)
