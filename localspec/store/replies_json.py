"""The JSON form of replies, in the database and in exports.

Events have the form of ``engine.wire``. Unknown fields are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any, TypeVar

from localspec.base.errors import LocalSpecError, error_from_code
from localspec.base.typed_json import known_fields, misfit
from localspec.engine.events import Finished, Round, Started
from localspec.engine.settings import BANNED, Sampling
from localspec.engine.wire import event_from_dict, event_to_dict
from localspec.runtime.messages import ReplyOptions, Tool
from localspec.store.replies import Arm, ModelFileRecord, ReplyMetadata, ReplyPart
from localspec.store.tree import ReplyState

T = TypeVar("T")
Data = Mapping[str, Any]

MALFORMED = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""The errors of this module for JSON of another form, as a damaged file may have it."""
_SELDOM = ("template", "trial", "arm", "copied")
"""Fields of ``ReplyMetadata`` that are left out if they are None or False."""


def about_to_dict(about: ReplyMetadata) -> dict[str, Any]:
    """The JSON object of a reply's metadata."""
    data = {name: value for name, value in asdict(about).items() if value or name not in _SELDOM}
    data["options"]["sampling"]["logit_bias"] = [
        # JSON has no infinity.
        [token, "ban" if bias == BANNED else bias]
        for token, bias in about.options.sampling.logit_bias
    ]
    if not about.options.tools:
        del data["options"]["tools"]
    return data


def about_from_dict(data: Data) -> ReplyMetadata:
    """Parse the object of ``about_to_dict``. Raises KeyError, TypeError or ValueError if it is malformed."""
    return ReplyMetadata(
        options=_options(data.get("options") or {}),
        target=_model_file(data.get("target")),
        draft=_model_file(data.get("draft")),
        pair_id=data.get("pair_id"),
        plain_per_second=data.get("plain_per_second"),
        template=data.get("template"),
        trial=data.get("trial"),
        arm=Arm(data["arm"]) if data.get("arm") else None,
        copied=data.get("copied") is True,
    )


@lru_cache(maxsize=256)
def about_from_json(text: str) -> ReplyMetadata:
    """Parse the text of a reply's metadata; cached, as successive replies mostly have the same. Raises MALFORMED."""
    return fitting(about_from_dict(json.loads(text)))


def fitting(value: T) -> T:
    """A parsed value or None, as it is. Raises ValueError if a field of it is not of the type that it declares."""
    if value is not None and (field := misfit(value)):
        raise ValueError(f"{field} has another form")
    return value


def _options(data: Data) -> ReplyOptions:
    known = known_fields(ReplyOptions, data)
    known["sampling"] = _sampling(data.get("sampling") or {})
    known["spec"] = None if data.get("spec") is None else tuple(data["spec"])
    known["stop"] = tuple(data.get("stop") or ())
    known["tools"] = tuple(Tool(**known_fields(Tool, tool)) for tool in data.get("tools") or ())
    return ReplyOptions(**known)


def _sampling(data: Data) -> Sampling:
    known: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in known_fields(Sampling, data).items()
    }
    biases = data.get("logit_bias") or ()
    known["logit_bias"] = tuple((int(token), BANNED if bias == "ban" else float(bias)) for token, bias in biases)
    return Sampling(**known)


def _model_file(data: Data | None) -> ModelFileRecord | None:
    return None if data is None else ModelFileRecord(**known_fields(ModelFileRecord, data))


def error_to_dict(error: LocalSpecError | None) -> dict[str, Any] | None:
    """The JSON object of an error."""
    return None if error is None else {"code": error.exit_code, "message": error.message, "hint": error.hint}


def error_from_dict(data: Data | None) -> LocalSpecError | None:
    """Parse the object of ``error_to_dict``."""
    return None if data is None else error_from_code(data["code"], data["message"], data.get("hint", ""))


def part_to_dict(part: ReplyPart) -> dict[str, Any]:
    """The JSON object of a part with all its rounds."""
    return {
        "about": about_to_dict(part.about),
        "state": part.state,
        "begin": part.begin,
        "started": event_to_dict(part.started) if part.started else None,
        "rounds": [event_to_dict(round_) for round_ in part.rounds],
        "finished": event_to_dict(part.finished) if part.finished else None,
        "error": error_to_dict(part.error),
    }


def part_from_dict(data: Data) -> ReplyPart:
    """Parse the object of ``part_to_dict``. Raises KeyError, TypeError or ValueError if it is malformed."""
    rounds = [event_from_dict(round_) for round_ in data.get("rounds") or ()]
    return ReplyPart(
        about=about_from_dict(data.get("about") or {}),
        state=ReplyState(data["state"]),
        begin=int(data.get("begin") or 0),
        started=started_from_dict(data.get("started")),
        rounds=tuple(round_ for round_ in rounds if isinstance(round_, Round)),
        finished=finished_from_dict(data.get("finished")),
        error=error_from_dict(data.get("error")),
    )


def started_from_dict(data: Data | None) -> Started | None:
    event = None if data is None else event_from_dict(data)
    return event if isinstance(event, Started) else None


def finished_from_dict(data: Data | None) -> Finished | None:
    event = None if data is None else event_from_dict(data)
    return event if isinstance(event, Finished) else None
