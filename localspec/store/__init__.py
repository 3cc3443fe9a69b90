"""Conversations on disk: trees of messages, replies with their provenance, search, export and import.

``Store`` opens the database. A chat changes a ``StoredConversation``, a ``Recorder`` stores a reply while it streams,
and the screen draws from a ``Tree``.
"""

from localspec.store.conversation import StoredConversation
from localspec.store.documents import ConversationDocument, Heading, ListedConversation
from localspec.store.ids import abbreviated
from localspec.store.recorder import Recorder
from localspec.store.records import RecordFilter, ReplyRecord
from localspec.store.replies import Arm, ModelFileRecord, ReplyMetadata, ReplyPart
from localspec.store.search import Hit
from localspec.store.store import Store, database_file
from localspec.store.summaries import Recap, SummaryRecorder
from localspec.store.titles import title_of
from localspec.store.tree import Node, ReplyState, Tree

__all__ = [
    "Arm",
    "ConversationDocument",
    "Heading",
    "Hit",
    "ListedConversation",
    "ModelFileRecord",
    "Node",
    "Recap",
    "RecordFilter",
    "Recorder",
    "ReplyMetadata",
    "ReplyPart",
    "ReplyRecord",
    "ReplyState",
    "Store",
    "StoredConversation",
    "SummaryRecorder",
    "Tree",
    "abbreviated",
    "database_file",
    "title_of",
]
