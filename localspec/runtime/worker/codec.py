"""Requests and answers as lines of JSON and back; knows the form of every message, and no process.

A line is ASCII (everything else is escaped), so no text can contain its end. Events are written as
``engine.wire`` writes them for scripts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from localspec.base.errors import EngineError
from localspec.engine.events import Alternative, TokenLogprobs
from localspec.engine.inspection import Candidate, Inspection, Opinion
from localspec.engine.settings import Sampling
from localspec.engine.wire import event_from_dict, event_to_dict
from localspec.runtime.messages import Infill, Message, ReplyOptions, Role, TokenIds, Tool, ToolCall
from localspec.runtime.options import LoadOptions
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import (
    Answer,
    Cancel,
    Complete,
    CountTokens,
    Detokenize,
    Detokenized,
    Dropped,
    Emitted,
    Failed,
    Generate,
    HasRead,
    Inspect,
    Inspected,
    Load,
    Loaded,
    LoadProgress,
    ReadAhead,
    Render,
    Rendered,
    Request,
    Score,
    Scored,
    Silence,
    Tokenize,
    Tokenized,
    TokensCounted,
    Unload,
    Unloaded,
    Weigh,
    Weighed,
)

Data = Mapping[str, Any]


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
    return {**kind, **asdict(message)}


def _plain(value: Any) -> Any:
    """JSON for what it has no form for: a path as its name, bytes as their numbers."""
    return list(value) if isinstance(value, bytes) else os.fspath(value)


def _decode(line: bytes) -> Request | Answer:
    try:
        data = json.loads(line)
        kind = data["kind"]
        if kind not in _DECODERS:
            raise _not_understood(line, f"unknown kind {kind!r}")
        return _DECODERS[kind](data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _not_understood(line, f"{type(error).__name__}: {error}") from error


def _not_understood(line: bytes, why: str) -> EngineError:
    shown = line[:80].decode("ascii", errors="backslashreplace").strip()
    return EngineError(
        f"LocalSpec and its engine process do not understand each other ({why} in {shown!r}).",
        "Was LocalSpec updated while it ran? Start it again.",
    )


def _load(data: Data) -> Load:
    return Load(LoadOptions(**_with_paths(data["options"])))


def _generate(data: Data) -> Generate:
    prompt, options = _prompt(data["prompt"]), _reply_options(data["options"])
    return Generate(data["request_id"], prompt, options, data.get("prefix", ""))


def _complete(data: Data) -> Complete:
    prompt, options = _crafted(data["prompt"]), _reply_options(data["options"])
    return Complete(data["request_id"], prompt, options, data["prefix"])


def _crafted(data: Data) -> TokenIds | Infill:
    if "ids" in data:
        return TokenIds(tuple(data["ids"]))
    return Infill(data["prefix"], data["suffix"], tuple((name, text) for name, text in data["files"]))


def _inspect(data: Data) -> Inspect:
    asked = _generate(data)
    return Inspect(asked.request_id, asked.prompt, asked.options, tuple(data["reply"]), data["position"])


def _weigh(data: Data) -> Weigh:
    asked = _generate(data)
    return Weigh(asked.request_id, asked.prompt, asked.options, tuple(data["reply"]), data["start"], data["stop"])


def _tokenize(data: Data) -> Tokenize:
    return Tokenize(data["request_id"], data["text"], data["special"], data["bos"])


def _render(data: Data) -> Render:
    return Render(data["request_id"], _messages(data["messages"]), _tools(data["tools"]), data["prefix"])


def _score(data: Data) -> Score:
    return Score(data["request_id"], tuple(data["ids"]), data["start"], data["stop"], data["top_n"])


def _logprobs(data: Data) -> TokenLogprobs:
    top = (Alternative(other["id"], bytes(other["piece"]), other["logprob"]) for other in data["top"])
    return TokenLogprobs(bytes(data["piece"]), data["logprob"], tuple(top))


def _tokenized(data: Data) -> Tokenized:
    return Tokenized(data["request_id"], tuple(data["ids"]), tuple(map(bytes, data["pieces"])))


def _prompt(data: Any) -> tuple[Message, ...] | str:
    return data if isinstance(data, str) else _messages(data)


def _messages(data: Any) -> tuple[Message, ...]:
    return tuple(_message(message) for message in data)


def _message(data: Data) -> Message:
    calls = tuple(ToolCall(**call) for call in data.get("calls", ()))
    return Message(Role(data["role"]), data["content"], calls, data.get("call_id"), data.get("name"))


def _tools(data: Iterable[Data]) -> tuple[Tool, ...]:
    return tuple(Tool(**tool) for tool in data)


def _reply_options(data: Data) -> ReplyOptions:
    spec = data["spec"]
    return ReplyOptions(
        **{
            **data,
            "sampling": _sampling(data["sampling"]),
            "spec": None if spec is None else tuple(spec),
            "stop": tuple(data["stop"]),
            "tools": _tools(data.get("tools", ())),
        }
    )


def _sampling(data: Data) -> Sampling:
    """JSON has lists where ``Sampling`` has tuples."""
    sampling: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
    }
    sampling["logit_bias"] = tuple((token, bias) for token, bias in data["logit_bias"])
    return Sampling(**sampling)


def _with_paths(data: Data) -> dict[str, Any]:
    """The fields of ``LoadOptions`` or ``PairInfo``, their file names as paths."""
    files = {name: data.get(name) for name in ("target", "draft", "projector")}
    return {**data, **{name: None if file is None else Path(file) for name, file in files.items()}}


def _info(data: Data) -> PairInfo:
    passes_on = data.get("passes_on")
    tuples = {"drafters": tuple(data["drafters"]), "passes_on": None if passes_on is None else tuple(passes_on)}
    return PairInfo(**{**_with_paths(data), **tuples})


def _inspection(data: Data) -> Inspection:
    draft = data["draft"]
    return Inspection(**{**data, "target": _opinion(data["target"]), "draft": _opinion(draft) if draft else None})


def _opinion(data: Data) -> Opinion:
    return Opinion(**{**data, "top": tuple(Candidate(**candidate) for candidate in data["top"])})


def _failed(data: Data) -> Failed:
    return Failed(data["request_id"], data["exit_code"], data["message"], data["hint"], data["died"])


_DECODERS: dict[str, Callable[[Data], Request | Answer]] = {
    "Load": _load,
    "Generate": _generate,
    "Complete": _complete,
    "CountTokens": lambda data: CountTokens(data["text"]),
    "ReadAhead": lambda data: ReadAhead(_messages(data["messages"]), _tools(data.get("tools", ()))),
    "Inspect": _inspect,
    "Weigh": _weigh,
    "Score": _score,
    "Tokenize": _tokenize,
    "Detokenize": lambda data: Detokenize(data["request_id"], tuple(data["ids"])),
    "Render": _render,
    "Cancel": lambda data: Cancel(data.get("request_id")),
    "Unload": lambda data: Unload(),
    "Silence": lambda data: Silence(data["what"]),
    "LoadProgress": lambda data: LoadProgress(data["what"], data["fraction"]),
    "Loaded": lambda data: Loaded(_info(data["info"])),
    "Unloaded": lambda data: Unloaded(),
    "Emitted": lambda data: Emitted(data["request_id"], event_from_dict(data["event"])),
    "TokensCounted": lambda data: TokensCounted(data["token_n"]),
    "HasRead": lambda data: HasRead(data["left_n"]),
    "Inspected": lambda data: Inspected(data["request_id"], _inspection(data["inspection"])),
    "Weighed": lambda data: Weighed(data["request_id"], tuple(data["probs"])),
    "Scored": lambda data: Scored(data["request_id"], tuple(map(_logprobs, data["logprobs"]))),
    "Tokenized": _tokenized,
    "Detokenized": lambda data: Detokenized(data["request_id"], data["text"]),
    "Rendered": lambda data: Rendered(data["request_id"], data["text"], data["token_n"]),
    "Dropped": lambda data: Dropped(data["request_id"]),
    "Failed": _failed,
}
