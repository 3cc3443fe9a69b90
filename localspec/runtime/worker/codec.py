"""Requests and answers as lines of JSON and back; knows the form of every message, and no process.

A line is ASCII (everything else is escaped), so no text can contain its end. Events are written as
``engine.wire`` writes them for scripts.
"""

from __future__ import annotations

import json
import os
from dataclasses import fields, is_dataclass
from typing import Any, get_args

from localspec.base.errors import EngineError
from localspec.base.typed_json import from_json
from localspec.engine.wire import event_from_dict, event_to_dict
from localspec.runtime.worker.messages import Answer, Emitted, Request

_KINDS: dict[str, type[Request | Answer]] = {kind.__name__: kind for kind in get_args(Request | Answer)}


def encode(message: Request | Answer) -> bytes:
    """One line, its newline included."""
    return json.dumps(_to_dict(message), separators=(",", ":"), default=_plain).encode("ascii") + b"\n"


def decode_request(line: bytes) -> Request:
    """Undo ``encode``. Raises EngineError if the line is no request."""
    message = _decode(line)
    if isinstance(message, Request):
        return message
    raise _not_understood(line, f"a {type(message).__name__} is no request")


def decode_answer(line: bytes) -> Answer:
    """Undo ``encode``. Raises EngineError if the line is no answer."""
    message = _decode(line)
    if isinstance(message, Answer):
        return message
    raise _not_understood(line, f"a {type(message).__name__} is no answer")


def _to_dict(message: Request | Answer) -> dict[str, Any]:
    kind = {"kind": type(message).__name__}
    if isinstance(message, Emitted):
        return {**kind, "request_id": message.request_id, "event": event_to_dict(message.event)}
    return {**kind, **_shallow(message)}


def _shallow(value: Any) -> dict[str, Any]:
    """The fields of a dataclass as they are; ``asdict`` would copy every text and number in them first."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _plain(value: Any) -> Any:
    """JSON for what it has no form for: a dataclass as its fields, a path as its name, bytes as their numbers."""
    if isinstance(value, bytes):
        return list(value)
    return _shallow(value) if is_dataclass(value) else os.fspath(value)


def _decode(line: bytes) -> Request | Answer:
    try:
        data = json.loads(line)
        kind = data.pop("kind")
        if kind not in _KINDS:
            raise _not_understood(line, f"unknown kind {kind!r}")
        if kind == Emitted.__name__:
            return Emitted(data["request_id"], event_from_dict(data["event"]))
        return from_json(_KINDS[kind], data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _not_understood(line, f"{type(error).__name__}: {error}") from error


def _not_understood(line: bytes, why: str) -> EngineError:
    shown = line[:80].decode("ascii", errors="backslashreplace").strip()
    return EngineError(
        f"LocalSpec and its engine process do not understand each other ({why} in {shown!r}).",
        "Was LocalSpec updated while it ran? Start it again.",
    )
