"""A whole conversation as one noun: what is exported, imported, and written or read in one go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from localspec.config import Value
from localspec.store.replies import ReplyPart
from localspec.store.titles import UNTITLED
from localspec.store.tree import Node, Tree


@dataclass(frozen=True, slots=True)
class Heading:
    """All of a conversation but its messages."""

    id: str
    created: datetime
    updated: datetime
    """When something was said in it last."""
    title: str = UNTITLED
    title_given: bool = False
    """Whether a person chose the title."""
    system: str | None = None
    pinned: bool = False
    deleted: datetime | None = None
    leaf: str | None = None
    source: str | None = None
    """Where an imported one came from, e.g. "chatgpt:5d41..."; the same is not imported twice."""
    settings: Mapping[str, Value] = field(default_factory=dict)
    """What it sets for itself, by ``section.key``; see ``config.own``."""


@dataclass(frozen=True, slots=True)
class MessageDocument:
    """A message, and how it came about if a model wrote it."""

    node: Node
    parts: tuple[ReplyPart, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationDocument:
    """A conversation with every branch, every message after its parent."""

    heading: Heading
    messages: tuple[MessageDocument, ...]

    @property
    def tree(self) -> Tree:
        """Raises ValueError if the messages make none."""
        return Tree((message.node for message in self.messages), self.heading.leaf)


@dataclass(frozen=True, slots=True)
class Summary:
    """A line in a list of conversations."""

    heading: Heading
    messages_n: int
    """Every version of every message that is not deleted."""
