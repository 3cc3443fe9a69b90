"""Whole conversations as values, for export, import and reading in one go."""

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
    """The fields of a conversation, without its messages."""

    id: str
    created: datetime
    updated: datetime
    """The time of its last message."""
    title: str = UNTITLED
    title_given: bool = False
    """True if a person or a model gave the title; False if it is made from the first question."""
    system: str | None = None
    pinned: bool = False
    deleted: datetime | None = None
    leaf: str | None = None
    source: str | None = None
    """The origin of an imported conversation ("chatgpt:5d41..."), by which a second import is recognised."""
    folder: str = ""
    """The folder, its levels parted by slashes; empty for none. See ``filing``."""
    tags: tuple[str, ...] = ()
    """The tags in alphabetical order."""
    archived: bool = False
    settings: Mapping[str, Value] = field(default_factory=dict)
    """Its own settings, by ``section.key``; see ``config.lookup.valid_settings``."""


@dataclass(frozen=True, slots=True)
class MessageDocument:
    """A message with the parts of its reply, if a model wrote it."""

    node: Node
    parts: tuple[ReplyPart, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationDocument:
    """A conversation with all its branches; every message comes after its parent."""

    heading: Heading
    messages: tuple[MessageDocument, ...]

    @property
    def tree(self) -> Tree:
        """The tree of the messages. Raises ValueError if they do not make one."""
        return Tree((message.node for message in self.messages), self.heading.leaf)


@dataclass(frozen=True, slots=True)
class ListedConversation:
    """An entry of a list of conversations."""

    heading: Heading
    messages_n: int
    """The number of messages that are not deleted, in all versions."""
