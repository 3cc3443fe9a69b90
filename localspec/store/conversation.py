"""An open conversation: every change is made in memory at once, and stored as soon as the database can take it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from localspec.base.errors import NotFoundError, StoreError
from localspec.config import Value
from localspec.engine.events import Event
from localspec.runtime.messages import Message, Role, ToolCall
from localspec.store import rows
from localspec.store.database import Database, Statement
from localspec.store.documents import ConversationDocument, Heading, MessageDocument
from localspec.store.heading_writer import HeadingWriter
from localspec.store.ids import Ids
from localspec.store.recorder import Monotonic, Recorder
from localspec.store.replies import ReplyMetadata, StoredReply
from localspec.store.reply_parts import ReplyParts
from localspec.store.summaries import (
    Recap,
    SummaryRecorder,
    messages_of,
    recap_of,
)
from localspec.store.timestamps import Clock
from localspec.store.titles import MAX_GIVEN_LENGTH, title_of
from localspec.store.tree import Node, ReplyState, Tree
from localspec.store.write_queue import WriteQueue
from localspec.store.writer_lock import WriterLock


class StoredConversation:
    """Made by ``Store.begin`` and ``Store.open_conversation``.

    No method raises for a fault of the disk: ``trouble`` has it, and everything is tried again with the next change. A
    conversation without messages is not stored.
    """

    def __init__(
        self,
        database: Database,
        write_queue: WriteQueue,
        writer: WriterLock,
        heading: Heading,
        tree: Tree,
        *,
        stored: bool,
        clock: Clock,
        monotonic: Monotonic,
        ids: Ids,
    ) -> None:
        self.tree = tree
        """The messages; to be changed through this object only."""
        self._database = database
        self._write_queue = write_queue
        self._clock = clock
        self._ids = ids
        self._heading = HeadingWriter(write_queue, heading, tree, clock, stored=stored)
        self._parts = ReplyParts(database, write_queue, writer, self._heading, monotonic)

    @property
    def heading(self) -> Heading:
        return self._heading.heading

    @property
    def id(self) -> str:
        return self.heading.id

    @property
    def title(self) -> str:
        return self.heading.title

    @property
    def system(self) -> str | None:
        return self.heading.system

    @property
    def trouble(self) -> StoreError | None:
        """The reason why changes of any conversation are not stored yet; None if all are."""
        return self._write_queue.trouble

    @property
    def path(self) -> tuple[Node, ...]:
        """The messages that the reader sees, from the first one to the current leaf."""
        return self.tree.path()

    @property
    def recap(self) -> Recap | None:
        """The summary that replaces the first turns of the path for the model, if there is one."""
        return recap_of(self.tree, self.tree.leaf)

    @property
    def settings(self) -> Mapping[str, Value]:
        """The conversation's own settings, by ``section.key``."""
        return self.heading.settings

    def messages(self, leaf: str | None = None) -> list[Message]:
        """The messages to send to the model for the next reply under ``leaf``, by default the current one."""
        recap = recap_of(self.tree, self.tree.leaf if leaf is None else leaf)
        return messages_of(self.system, self.tree.path(leaf), recap)

    def ask(self, text: str) -> Node:
        """Add a question under the current leaf."""
        return self._say(Role.USER, text, self._shown_leaf())

    def add_result(self, call: ToolCall, result: str) -> Node:
        """Add the result of a call under the current leaf."""
        return self._say(Role.TOOL, result, self._shown_leaf(), call)

    def edit(self, node_id: str, text: str) -> Node:
        """Add another version of a message; earlier versions and what follows them stay."""
        node = self.tree.node(node_id)
        return self._say(node.role, text, self.tree.parent(node_id), node.call)

    def begin_reply(self, about: ReplyMetadata, under: str | None = None) -> Recorder:
        """Begin a reply to a question, by default the current leaf; a further reply becomes a sibling."""
        parent = self._shown_leaf() if under is None else under
        node = Node(self._ids(), parent, Role.ASSISTANT, "", self._clock(), state=ReplyState.WRITING)
        return self._record(node, 0, about, *self._insert(node))

    def continue_reply(self, node_id: str, about: ReplyMetadata) -> Recorder:
        """Continue a reply where it stopped; new text is appended, and it becomes the leaf.

        If another program has changed it since, or is writing it, the reply as it is here becomes another version, and
        that is continued. Raises StoreError if its stored parts cannot be read now.
        """
        node = replace(self.tree.node(node_id), state=ReplyState.WRITING, said_n=None)
        part = self._parts.next(node)
        if part is not None:
            return self._record(node, part, about)
        version = replace(node, id=self._ids(), created=self._clock())
        return self._record(version, 0, about, *self._insert(version))

    def choose(self, node_id: str) -> None:
        """Show another version of a message, with the newest that followed it."""
        self.tree.choose(node_id)
        self._heading.write()

    def go_to(self, node_id: str) -> None:
        """End the path at a message; the next message starts a branch there."""
        self.tree.go_to(node_id)
        self._heading.write()

    def delete(self, node_id: str) -> tuple[Node, ...]:
        """Delete the turn of a message, see ``Tree.delete``; give one of the nodes to ``restore`` to undo it."""
        last = max((node.deleted for node in self.tree.nodes if node.deleted is not None), default=self._clock())
        gone = self.tree.delete(node_id, max(self._clock(), last + timedelta(microseconds=1)))
        self._heading.write(*map(rows.update_deleted, gone))
        return gone

    def restore(self, node_id: str) -> None:
        """Undo ``delete``."""
        self._heading.write(*map(rows.update_deleted, self.tree.restore(node_id)))

    def undo(self, since: datetime | None = None) -> Node | None:
        """Undo the last deletion of a turn, or the summary in force, whichever is later; nothing before ``since``.

        Returns the first message that is back, or the summary; None if there is nothing to undo.
        """
        turn, recap = self.tree.deleted_last(), self.recap
        done = [(turn.deleted, turn)] if turn is not None and turn.deleted is not None else []
        done += [(recap.node.created, recap.node)] if recap is not None else []
        at, node = max(done, key=lambda each: each[0], default=(None, None))
        if at is None or node is None or (since is not None and at < since):
            return None
        if node.role is Role.SYSTEM:
            self.delete(node.id)
        else:
            self.restore(node.id)
        return node

    def rename(self, title: str) -> None:
        """Set the title, at most ``MAX_GIVEN_LENGTH`` of it; an empty one derives it from the first question again."""
        self._take_over_heading()
        given = " ".join(title.split())[:MAX_GIVEN_LENGTH]
        question = next((node.content for node in self.tree.nodes if node.role is Role.USER), "")
        self._heading.change(replace(self.heading, title=given or title_of(question), title_given=bool(given)))

    def change_heading(self, change: Callable[[Heading], Heading]) -> None:
        """Replace the heading by ``change`` of it, as it is in the store now."""
        self._take_over_heading()
        self._heading.change(change(self.heading))

    def set_system(self, system: str | None) -> None:
        """Set the system prompt from the next reply on."""
        self._heading.change(replace(self.heading, system=system))

    def set_settings(self, settings: Mapping[str, Value]) -> None:
        """Replace the conversation's own settings."""
        self._heading.change(replace(self.heading, settings=dict(settings)))

    def begin_summary(self, through: str, about: ReplyMetadata) -> SummaryRecorder:
        """Record a summary of all turns up to a message. It is stored once it is complete; ``delete`` undoes it."""
        summary = self._ids()

        def store(events: Sequence[Event], keeps_figures: bool) -> None:
            node = Node(summary, through, Role.SYSTEM, "", self._clock(), state=ReplyState.WRITING)
            self.tree.add(node)
            recorder = self._parts.begin(node, 0, about, self._ended, rows.insert_node(self.id, node))
            recorder.keeps_figures = keeps_figures
            for event in events:
                recorder.receive(event)

        return SummaryRecorder(summary, store)

    def reply(self, node_id: str) -> StoredReply | None:
        """The tokens and rounds of a message; None if no model wrote it.

        Raises StoreError if it cannot be read; ValueError if its rounds are damaged.
        """
        node = self.tree.node(node_id)
        parts = self._parts.of(node)
        return StoredReply(node.content, parts) if parts else None

    @property
    def last_made_with(self) -> ReplyMetadata | None:
        """The metadata of the last reply on the path; None if no model wrote it, or it cannot be read now."""
        replies = [node for node in self.path if node.role is Role.ASSISTANT]
        try:
            parts = self._parts.of(replies[-1]) if replies else ()
        except (StoreError, ValueError):
            return None
        return parts[-1].about if parts else None

    def document(self) -> ConversationDocument:
        """The whole conversation for an export, with the rounds of replies as far as they are stored.

        A reply that is being written is included as far as it is stored.
        """
        try:
            stored = {message.node.id: message for message in rows.document_of(self._database, self.id).messages}
        except (StoreError, NotFoundError):
            stored = {}
        messages = (_as_it_is(node, stored.get(node.id)) for node in self.tree.nodes)
        return ConversationDocument(self.heading, tuple(messages))

    def flush(self) -> bool:
        """Try again to store pending changes; True if all are stored."""
        return self._write_queue.flush()

    def _take_over_heading(self) -> None:
        # Gone or unreadable: the write that follows says so.
        with suppress(StoreError, NotFoundError):
            self._heading.take_over(rows.heading_of(self._database, self.id))

    def _shown_leaf(self) -> str | None:
        """The last message of the path; the leaf itself may have been deleted."""
        path = self.tree.path()
        return path[-1].id if path else None

    def _say(self, role: Role, text: str, parent: str | None, call: ToolCall | None = None) -> Node:
        node = Node(self._ids(), parent, role, text, self._clock(), call=call)
        if role is Role.USER and not self.heading.title_given and not len(self.tree):
            self._heading.entitle(title_of(text))
        self._add(node)
        self._heading.write(*self._insert(node))
        return node

    def _insert(self, node: Node) -> tuple[Statement, ...]:
        """The statements that store a new message, and undo that another program has deleted the conversation."""
        undeleting = (rows.undelete(self.id),) if self.heading.deleted is None else ()
        return *undeleting, rows.insert_node(self.id, node)

    def _record(self, node: Node, part: int, about: ReplyMetadata, *before: Statement) -> Recorder:
        if node.id in self.tree:
            self.tree.replace(node)
            self.tree.go_to(node.id)
        else:
            self._add(node)
        return self._parts.begin(node, part, about, self._ended, *before)

    def _ended(self, node: Node) -> tuple[Statement, ...]:
        """Update the tree and the heading at the end of a reply; the statements that store the heading."""
        self.tree.replace(replace(node, deleted=self.tree.node(node.id).deleted))
        self._heading.touch()
        return self._heading.statements()

    def _add(self, node: Node) -> None:
        self.tree.add(node)
        self.tree.go_to(node.id)
        self._heading.touch()


def _as_it_is(node: Node, stored: MessageDocument | None) -> MessageDocument:
    """A message in memory, completed by the database's parts."""
    if stored is None:
        return MessageDocument(node)
    if node.state is ReplyState.WRITING and len(stored.node.content) >= len(node.content):
        return MessageDocument(replace(node, content=stored.node.content), stored.parts)
    # The stored rounds of an unfinished reply are behind its text.
    return MessageDocument(node, () if stored.node.state is ReplyState.WRITING else stored.parts)
