"""A conversation as a tree: what was said, in every version of it.

A message that is edited or answered anew gets a sibling, and what followed the first version stays below
it. One node is the current leaf; the way to it from the root is what the reader sees. A deleted
node is passed over, as if what follows it stood one level higher, so that no branch is ever lost. Knows
nothing of databases.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from localspec.runtime.messages import Message, Role


class ReplyState(StrEnum):
    """How a reply stands."""

    WRITING = "writing"
    """It grows; or the program that let it grow has not been seen to end."""
    DONE = "done"
    """It ended: by itself, at a limit, or because somebody asked to stop."""
    FAILED = "failed"
    """It broke off with an error."""
    CUT_OFF = "cut off"
    """The program ended in the middle of it, and what had been stored is all there is."""


@dataclass(frozen=True, slots=True)
class Node:
    """One version of one message."""

    id: str
    parent: str | None
    """None for a first message."""
    role: Role
    content: str
    """What was said. Stays what it was before while a reply is being written; its recorder has the rest."""
    created: datetime
    deleted: datetime | None = None
    """When its turn was deleted; nodes deleted in one go share the moment."""
    state: ReplyState | None = None
    """None for what no model wrote."""


class Tree:
    """Nodes in the order they came, oldest first; every parent before its children."""

    def __init__(self, nodes: Iterable[Node] = (), leaf: str | None = None) -> None:
        """Raises ValueError if a parent is missing or comes after its child, or an id comes twice."""
        self._nodes: dict[str, Node] = {}
        self._children: dict[str | None, list[str]] = {None: []}
        for node in nodes:
            self.add(node)
        self._leaf: str | None = None
        if leaf is not None and leaf in self._nodes:
            self.go_to(leaf)

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, node_id: str) -> bool:
        return node_id in self._nodes

    @property
    def leaf(self) -> str | None:
        """Where the conversation stands; the next message comes under it. None at the very beginning."""
        return self._leaf

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All of them, the deleted ones too."""
        return tuple(self._nodes.values())

    def node(self, node_id: str) -> Node:
        """Raises KeyError."""
        return self._nodes[node_id]

    def add(self, node: Node) -> None:
        """Add the newest node; the leaf stays. Raises ValueError as the constructor, and for a misplaced summary."""
        if node.id in self._nodes:
            raise ValueError(f"the message {node.id} is there twice")
        if node.parent not in self._children:
            raise ValueError(f"the message {node.id} follows {node.parent}, which is not there before it")
        if node.parent is None and node.role is Role.SYSTEM:
            raise ValueError(f"the summary {node.id} stands for nothing")
        if node.parent is not None and self._nodes[node.parent].role is Role.SYSTEM:
            raise ValueError(f"the message {node.id} follows a summary")
        self._nodes[node.id] = node
        self._children[node.id] = []
        self._children[node.parent].append(node.id)

    def replace(self, node: Node) -> None:
        """Put a changed node in its place; its parent must be the same. Raises KeyError."""
        assert self._nodes[node.id].parent == node.parent
        self._nodes[node.id] = node

    def path(self, leaf: str | None = None) -> tuple[Node, ...]:
        """From the first message to ``leaf``, without the deleted ones; without an argument to the current leaf."""
        steps: list[Node] = []
        step = self._leaf if leaf is None else leaf
        while step is not None:
            node = self._nodes[step]
            if node.deleted is None:
                steps.append(node)
            step = node.parent
        return tuple(reversed(steps))

    def summary(self, leaf: str | None = None) -> Node | None:
        """The latest summary of what stands on the way to ``leaf``, whole and not deleted; see ``summaries``."""
        step = self._leaf if leaf is None else leaf
        while step is not None:
            for child in reversed(self._children[step]):
                node = self._nodes[child]
                if node.role is Role.SYSTEM and node.deleted is None and node.state in (None, ReplyState.DONE):
                    return node
            step = self._nodes[step].parent
        return None

    def children(self, node_id: str | None) -> tuple[Node, ...]:
        """What follows a node, oldest first; in place of a deleted one, what follows that. None: first messages.

        Summaries are none of it: nothing follows them.
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
        """All versions of a message, itself among them, oldest first."""
        return tuple(node for node in self.children(self.parent(node_id)) if node.role is self._nodes[node_id].role)

    def position(self, node_id: str) -> tuple[int, int]:
        """Which version of how many, as in 2/3. Raises ValueError for a deleted node."""
        ids = [node.id for node in self.siblings(node_id)]
        return ids.index(node_id) + 1, len(ids)

    def newest_leaf(self, node_id: str | None) -> str | None:
        """Following the newest child from here to the end."""
        while children := self.children(node_id):
            node_id = children[-1].id
        return node_id

    def go_to(self, node_id: str | None) -> None:
        """Make a node the leaf, whatever follows it; for a summary, what it stands for. Raises KeyError."""
        node = self._nodes[node_id] if node_id is not None else None
        self._leaf = node.parent if node is not None and node.role is Role.SYSTEM else node_id

    def choose(self, node_id: str) -> None:
        """Show this version: the leaf moves to the newest one below it; it stays if it is there already.

        Of a summary, what it stands for.
        """
        node = self._nodes[node_id]
        if node.role is Role.SYSTEM and node.parent is not None:
            node_id = node.parent
        if all(node.id != node_id for node in self.path()):
            self.go_to(self.newest_leaf(node_id))

    def turn(self, node_id: str) -> tuple[Node, ...]:
        """A question with all its replies, as far as they are not deleted.

        Of a reply only itself, if there are others or no question stands above it.
        """
        node = self._nodes[node_id]
        if node.role is Role.ASSISTANT:
            above = self.parent(node_id)
            if above is None or len(self.siblings(node_id)) > 1 or self._nodes[above].role is not Role.USER:
                return (node,)
            node = self._nodes[above]
        return (node, *(child for child in self.children(node.id) if child.role is Role.ASSISTANT))

    def delete(self, node_id: str, at: datetime) -> tuple[Node, ...]:
        """Delete the turn of a node; its nodes as they are now. What follows it stays.

        If the path now ends in nothing that is shown, the leaf goes to another version of the deleted
        reply or question, or else to what stood before.
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
        """Undo a deletion: of this node and of those that went with it, which are given back; it is shown again."""
        at = self._nodes[node_id].deleted
        back = tuple(replace(node, deleted=None) for node in self.nodes if at is not None and node.deleted == at)
        for node in back:
            self.replace(node)
        self.choose(node_id)
        return back

    def deleted_last(self) -> Node | None:
        """The first message of the turn that was deleted last, of those that are not back; summaries are no turns."""
        turns = [(node.deleted, node) for node in self.nodes if node.deleted and node.role is not Role.SYSTEM]
        return max(turns, key=lambda turn: turn[0])[1] if turns else None


def chat_messages(system: str | None, path: Iterable[Node]) -> list[Message]:
    """What a model is to be asked: a path with its system prompt.

    Empty messages are left out, and so are questions that got no answer, except the last.
    """
    said = [node for node in path if node.content]
    messages = [Message(Role.SYSTEM, system)] if system else []
    for index, node in enumerate(said):
        pending = node.role is Role.USER and said[index + 1 : index + 2] and said[index + 1].role is Role.USER
        if not pending:
            messages.append(Message(node.role, node.content))
    return messages
