"""The JSON form of trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from localspec.base.typed_json import known_fields, misfit
from localspec.insight.trials.trial import (
    LOAD_FIELDS,
    REPLY_FIELDS,
    Change,
    Outcome,
    PromotedSetting,
    Trial,
    TrialEnd,
)
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.options import LoadOptions

Data = Mapping[str, Any]


def trial_to_dict(trial: Trial) -> dict[str, Any]:
    """The object for the file and for ``--json``."""
    data = asdict(trial) | {"begun": trial.begun.isoformat()}
    data["changes"] = [
        {name: str(value) if isinstance(value, Path) else value for name, value in change.items()}
        for change in data["changes"]
    ]
    if trial.end is not None:
        data["end"] |= {"at": trial.end.at.isoformat()}
    return data


def trial_from_dict(data: Data) -> Trial:
    """Parse the object of ``trial_to_dict``; unknown fields are ignored.

    Raises KeyError, TypeError or ValueError if it is malformed.
    """
    known = known_fields(Trial, data)
    known["begun"] = datetime.fromisoformat(data["begun"])
    known["changes"] = tuple(_change_from(each) for each in data["changes"])
    known["end"] = None if data.get("end") is None else _end_from(data["end"])
    trial = Trial(**known)
    if misfit(trial) or not (0 < trial.share < 1 and 0 < trial.error < 1 and trial.changes):
        raise ValueError("a share or an error that is no probability, nothing that is tried, or another form")
    return trial


def _change_from(data: Data) -> Change:
    name = data["name"]
    if name not in (*REPLY_FIELDS, *LOAD_FIELDS):
        raise ValueError(f"{name} is not among what can be tried here")
    change = Change(name, _field(name, data["before"]), _field(name, data["after"]))
    options = ReplyOptions() if name in REPLY_FIELDS else LoadOptions(Path())
    for value in (change.before, change.after):
        if misfit(replace(options, **{name: value})):
            raise ValueError(f"{name} cannot be {value!r}")
    return change


def _field(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name == "draft":
        return Path(value)
    return tuple(value) if name == "spec" else value


def _end_from(data: Data) -> TrialEnd:
    known = known_fields(TrialEnd, data)
    known["outcome"] = Outcome(data["outcome"])
    known["at"] = datetime.fromisoformat(data["at"])
    known["written"] = tuple(
        PromotedSetting(**known_fields(PromotedSetting, each)) for each in data.get("written") or ()
    )
    return TrialEnd(**known)
