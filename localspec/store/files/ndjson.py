"""The NDJSON export: conversations, messages and the events of every reply, one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from localspec.engine.wire import event_to_dict
from localspec.store.documents import ConversationDocument, MessageDocument
from localspec.store.files.native_json import heading_to_dict, node_to_dict
from localspec.store.replies_json import about_to_dict, error_to_dict


def to_ndjson(document: ConversationDocument) -> Iterator[str]:
    """The lines of a conversation, then of each message followed by its reply's events, without line ends.

    ``kind`` is conversation, message, reply (its metadata) or event, with the fields of ``localspec run --json``. Every
    line but the first names its conversation and message.
    """
    heading = heading_to_dict(document.heading)
    yield _line({"kind": "conversation", **heading})
    for message in document.messages:
        for record in _records(message):
            yield _line({"conversation": document.heading.id, **record})


def _records(message: MessageDocument) -> Iterator[dict[str, Any]]:
    node = message.node
    yield {"kind": "message", "message": node.id, **node_to_dict(node)}
    for number, part in enumerate(message.parts):
        place = {"message": node.id, "part": number}
        about = about_to_dict(part.about)
        yield {"kind": "reply", **place, "state": part.state, "error": error_to_dict(part.error), **about}
        for event in (part.started, *part.rounds, part.finished):
            if event is not None:
                yield {"kind": "event", **place, **event_to_dict(event)}


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False)
