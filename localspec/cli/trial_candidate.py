"""The candidate of a trial: the configuration that is set, with what is tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from localspec.base.errors import UsageError
from localspec.base.paths import expanded
from localspec.config import read_config
from localspec.insight.trials.trial import Change, changes_between
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.resolver import SettingsResolver


@dataclass(frozen=True, slots=True)
class TrialCandidate:
    """The changes that are tried, and the pair."""

    pair: str
    changes: tuple[Change, ...]


def candidate(pair: str | None, draft: Path | None, draft_of: str | None, tried: Mapping[str, Any]) -> TrialCandidate:
    """Raises UsageError where nothing differs or options contradict each other, and what finding files raises."""
    named = {} if pair is None else {"pair": pair}
    incumbent = _chat_config(named)
    if incumbent.pair_id is None or not incumbent.keeps_figures:
        raise UsageError(
            "A trial rests on the figures of replies, and those are not kept.", "Set record_figures to true."
        )
    chat_config = _chat_config({**named, **tried})
    chosen = _of_pair(incumbent, draft_of) if draft_of is not None else draft
    if chosen is not None:
        chat_config = replace(chat_config, load=replace(chat_config.load, draft=_fitting(incumbent, chosen)))
    changes = changes_between(incumbent, chat_config)
    if not changes:
        hint = "Name another draft, drafter, depth or way of loading: localspec trials start --help"
        raise UsageError(f"Nothing differs from what is set for {incumbent.pair_id}.", hint)
    return TrialCandidate(incumbent.pair_id, changes)


def _chat_config(overrides: Mapping[str, Any]) -> ChatConfig:
    """The configuration that is set, with some values as if the command line gave them."""
    return SettingsResolver(overrides, without=frozenset(("connect",))).resolve(read_config())


def _of_pair(incumbent: ChatConfig, pair_id: str) -> Path:
    """The draft of another pair of the same target."""
    from localspec.models.pairs import load_catalogue

    files = load_catalogue().find(pair_id).files()
    if files.target.resolve() != incumbent.load.target.resolve():
        raise UsageError(
            f"{pair_id} has another target than {incumbent.pair_id}, so their replies are not the same.",
            "Name a pair with the same target, or a draft with --draft FILE.",
        )
    if files.draft is None:
        raise UsageError(f"{pair_id} has no draft.", "Name a pair that has one, or a draft with --draft FILE.")
    return files.draft


def _fitting(incumbent: ChatConfig, draft: Path) -> Path:
    """The file, if it can draft for the target. Raises NotFoundError, ModelFileError, PairMismatchError."""
    from localspec.gguf import read_header
    from localspec.models.compatibility import check_match

    named = expanded(draft)
    path = named.resolve() if named.is_absolute() or named.exists() else draft
    check_match(read_header(incumbent.load.target), read_header(path))
    return path
