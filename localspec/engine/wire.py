"""Events as JSON objects and back: ``localspec run --json``, the worker's pipe, the database.

Scripts rely on this: fields may be added, none renamed. Times are milliseconds here, seconds inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from localspec.engine.events import (
    Event,
    Finished,
    FinishReason,
    Origin,
    PromptProgress,
    Proposal,
    Round,
    Started,
    Token,
)
from localspec.engine.timings import Timings


def event_to_dict(event: Event) -> dict[str, Any]:
    """The JSON object for one event; ``event`` names its kind."""
    match event:
        case Started():
            return {"event": "start", **asdict(event)}
        case PromptProgress():
            return {"event": "progress", **asdict(event)}
        case Round():
            return _round_to_dict(event)
        case Finished(reason, text, timings):
            return {"event": "done", "reason": reason, "text": text, "timings": asdict(timings)}


def event_from_dict(data: Mapping[str, Any]) -> Event:
    """Undo ``event_to_dict``; unknown fields are passed over. Raises KeyError if one is missing."""
    match data["event"]:
        case "start":
            return Started(data["prompt_n"], data["cache_n"], data["seed"], data.get("dropped_n", 0))
        case "progress":
            return PromptProgress(data["done_n"], data["total_n"])
        case "round":
            return _round_from_dict(data)
        case "done":
            return Finished(FinishReason(data["reason"]), data["text"], _timings(data["timings"]))
        case unknown:
            raise KeyError(f"unknown event {unknown!r}")


def _round_to_dict(round_: Round) -> dict[str, Any]:
    return {
        "event": "round",
        "index": round_.index,
        "drafter": round_.drafter,
        "depth": round_.depth,
        "tokens": [asdict(token) for token in round_.tokens],
        "rejected": [asdict(proposal) for proposal in round_.rejected],
        "ignored": [asdict(proposal) for proposal in round_.ignored],
        "draft_ms": round_.draft_s * 1e3,
        "verify_ms": round_.verify_s * 1e3,
        "round_ms": round_.total_s * 1e3,
        "why": round_.why,
        "divergence": round_.divergence,
        "price": round_.price,
    }


def _round_from_dict(data: Mapping[str, Any]) -> Round:
    return Round(
        index=data["index"],
        drafter=data["drafter"],
        depth=data["depth"],
        tokens=tuple(Token(t["id"], t["text"], Origin(t["origin"]), t.get("drafter")) for t in data["tokens"]),
        rejected=tuple(Proposal(p["id"], p["text"], p.get("drafter")) for p in data["rejected"]),
        ignored=tuple(Proposal(p["id"], p["text"], p.get("drafter")) for p in data["ignored"]),
        draft_s=data["draft_ms"] / 1e3,
        verify_s=data["verify_ms"] / 1e3,
        total_s=data["round_ms"] / 1e3,
        why=data.get("why", ""),
        divergence=data.get("divergence"),
        price=data.get("price"),
    )


def _timings(data: Mapping[str, Any]) -> Timings:
    known = {field.name: data[field.name] for field in fields(Timings) if field.name in data}
    known["accepted_per_pos"] = tuple(known["accepted_per_pos"])
    return Timings(**known)
