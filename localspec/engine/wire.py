"""Events as JSON objects and back: ``localspec run --json``, the worker's pipe, the database.

Scripts rely on this: fields may be added, none renamed. Times are milliseconds here, seconds inside.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from localspec.engine.events import (
    Alternative,
    DrafterFailure,
    Event,
    Finished,
    FinishReason,
    Origin,
    PromptProgress,
    Proposal,
    Round,
    Started,
    Token,
    TokenLogprobs,
    ToolCall,
)
from localspec.engine.timings import Timings

_FAILURE = re.compile(r"(?:^|; )([\w+-]+) is left out, it failed: (.*?)(?=; [\w+-]+ is left out, it failed: |\Z)", re.S)


def event_to_dict(event: Event) -> dict[str, Any]:
    """The JSON object for one event; ``event`` names its kind."""
    match event:
        case Started():
            return {"event": "start", **asdict(event)}
        case PromptProgress():
            return {"event": "progress", **asdict(event)}
        case Round():
            return _round_to_dict(event)
        case Finished():
            return _finished_to_dict(event)


def event_from_dict(data: Mapping[str, Any]) -> Event:
    """Undo ``event_to_dict``; unknown fields are passed over. Raises KeyError if one is missing."""
    match data["event"]:
        case "start":
            left_out = data.get("dropped_n", 0), data.get("cut_n", 0)
            return Started(data["prompt_n"], data["cache_n"], data["seed"], *left_out, data.get("reasons", False))
        case "progress":
            return PromptProgress(data["done_n"], data["total_n"], data.get("image", False))
        case "round":
            return _round_from_dict(data)
        case "done":
            calls = tuple(ToolCall(each["id"], each["name"], each["arguments"]) for each in data.get("calls", ()))
            timings, error = _timings(data["timings"]), data.get("call_error")
            said_n, stop = data.get("said_n"), data.get("stop")
            return Finished(FinishReason(data["reason"]), data["text"], timings, calls, error, said_n, stop)
        case unknown:
            raise KeyError(f"unknown event {unknown!r}")


def _finished_to_dict(finished: Finished) -> dict[str, Any]:
    return {
        "event": "done",
        "reason": finished.reason,
        "text": finished.text,
        "timings": asdict(finished.timings),
        **({"calls": [asdict(call) for call in finished.calls]} if finished.calls else {}),
        **({"call_error": finished.call_error} if finished.call_error is not None else {}),
        **({"said_n": finished.said_n} if finished.said_n is not None else {}),
        **({"stop": finished.stop} if finished.stop is not None else {}),
    }


def _round_to_dict(round_: Round) -> dict[str, Any]:
    return {
        "event": "round",
        "index": round_.index,
        "drafter": round_.drafter,
        "depth": round_.depth,
        "tokens": [_token_to_dict(token) for token in round_.tokens],
        "rejected": [asdict(proposal) for proposal in round_.rejected],
        "ignored": [asdict(proposal) for proposal in round_.ignored],
        "draft_ms": round_.draft_s * 1e3,
        "verify_ms": round_.verify_s * 1e3,
        "round_ms": round_.total_s * 1e3,
        "why": why_text(round_),
        "divergence": round_.divergence,
        "price": round_.price,
        **({"failures": [asdict(failure) for failure in round_.failures]} if round_.failures else {}),
        **({"unscored_n": round_.unscored_n} if round_.unscored_n else {}),
        **({"held_n": round_.held_n} if round_.held_n else {}),
    }


def _token_to_dict(token: Token) -> dict[str, Any]:
    data = {"id": token.id, "text": token.text, "origin": token.origin, "drafter": token.drafter}
    if token.logprobs is None:
        return data
    own, top = token.logprobs, token.logprobs.top
    alternatives = [{"id": other.id, **_logprob_to_dict(other.piece, other.logprob)} for other in top]
    return data | {"logprobs": {**_logprob_to_dict(own.piece, own.logprob), "top": alternatives}}


def _logprob_to_dict(piece: bytes, logprob: float) -> dict[str, Any]:
    """JSON has no infinity: what is impossible has no ``logprob``."""
    text = piece.decode("utf-8", errors="replace")
    return {"text": text, "bytes": list(piece), "logprob": logprob if logprob > -math.inf else None}


def why_text(round_: Round) -> str:
    """``Round.why`` and the round's failures, in words."""
    return "; ".join(filter(None, [round_.why, _failures_text(round_.failures)]))


def split_why(text: str) -> tuple[str, tuple[DrafterFailure, ...]]:
    """Undo ``why_text``, for rounds that were stored before failures were data."""
    found = list(_FAILURE.finditer(text))
    if not found:
        return text, ()
    return text[: found[0].start()], tuple(DrafterFailure(match[1], match[2]) for match in found)


def _failures_text(failures: Iterable[DrafterFailure]) -> str:
    return "; ".join(f"{failure.drafter} is left out, it failed: {failure.message}" for failure in failures)


def _why_and_failures(data: Mapping[str, Any]) -> tuple[str, tuple[DrafterFailure, ...]]:
    text = data.get("why", "")
    if "failures" not in data:
        return split_why(text)
    failures = tuple(DrafterFailure(each["drafter"], each["message"]) for each in data["failures"])
    return text.removesuffix(_failures_text(failures)).removesuffix("; "), failures


def _round_from_dict(data: Mapping[str, Any]) -> Round:
    why, failures = _why_and_failures(data)
    return Round(
        index=data["index"],
        drafter=data["drafter"],
        depth=data["depth"],
        tokens=tuple(_token(t) for t in data["tokens"]),
        rejected=tuple(Proposal(p["id"], p["text"], p.get("drafter")) for p in data["rejected"]),
        ignored=tuple(Proposal(p["id"], p["text"], p.get("drafter")) for p in data["ignored"]),
        draft_s=data["draft_ms"] / 1e3,
        verify_s=data["verify_ms"] / 1e3,
        total_s=data["round_ms"] / 1e3,
        why=why,
        failures=failures,
        divergence=data.get("divergence"),
        price=data.get("price"),
        unscored_n=data.get("unscored_n", 0),
        held_n=data.get("held_n", 0),
    )


def _token(data: Mapping[str, Any]) -> Token:
    logprobs = _logprobs(data["logprobs"]) if "logprobs" in data else None
    return Token(data["id"], data["text"], Origin(data["origin"]), data.get("drafter"), logprobs)


def _logprobs(data: Mapping[str, Any]) -> TokenLogprobs:
    top = (Alternative(other["id"], bytes(other["bytes"]), _logprob(other["logprob"])) for other in data["top"])
    return TokenLogprobs(bytes(data["bytes"]), _logprob(data["logprob"]), tuple(top))


def _logprob(value: float | None) -> float:
    return -math.inf if value is None else value


def _timings(data: Mapping[str, Any]) -> Timings:
    known = {field.name: data[field.name] for field in fields(Timings) if field.name in data}
    known["accepted_per_pos"] = tuple(known["accepted_per_pos"])
    return Timings(**known)
