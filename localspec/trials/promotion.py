"""The candidate becomes what is set: into the user's settings, or their own pairs where the draft changes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from localspec.config import Value, find_setting, read_config, setting
from localspec.config.file import write_value
from localspec.config.kinds import AUTO, shown
from localspec.pairs import BUILTIN_ID, load_catalogue
from localspec.pairs.own_file import append_pair, own_file, own_pairs, remove_pair
from localspec.pairs.pair import ModelFile, Pair
from localspec.trials.trial import Change, Trial, Written

_PAIR = "model.pair"


@dataclass(frozen=True, slots=True)
class Promoted:
    """What was written, for the record, and in sentences."""

    written: tuple[Written, ...] = ()
    added_pair: str | None = None
    sentences: tuple[str, ...] = ()


def promote(trial: Trial) -> Promoted:
    """Write the candidate into the settings, all of it or nothing. Raises ConfigError and what naming a pair raises."""
    written: list[Written] = []
    added: str | None = None
    sentences: list[str] = []
    try:
        for change in trial.changes:
            if change.name != "draft":
                written.append(_set(setting(change.name).name, _as_setting(change)))
        if any(change.name == "draft" for change in trial.changes):
            pair_id = trial.candidate_pair
            if pair_id is None:
                pair_id = added = _add_pair(trial)
                sentences.append(f"The pair {added} was added to {own_file()}.")
            if read_config().values.get(_PAIR, BUILTIN_ID) == trial.pair:
                written.append(_set(_PAIR, pair_id))
            else:
                sentences.append(f"--pair {pair_id} uses it.")
    except BaseException:
        undo(tuple(written), added)
        raise
    lines = [
        f"{each.setting} = {shown(each.after)}" if each.after is not None else f"no {each.setting}" for each in written
    ]
    if lines:
        general = ", for every pair" if any(each.setting != _PAIR for each in written) else ""
        sentences.insert(0, f"Written to {read_config().path}: {', '.join(lines)}{general}.")
    return Promoted(tuple(written), added, tuple(sentences))


def undo(written: tuple[Written, ...], added_pair: str | None) -> list[str]:
    """Put back what ``promote`` wrote, where it still stands; what became of it, in sentences. Raises ConfigError."""
    sentences = []
    for each in reversed(written):
        now = read_config().values.get(each.setting)
        if now != _value(each.after):
            sentences.append(f"{each.setting} was changed since, and stays.")
            continue
        _set(each.setting, _value(each.before))
        sentences.append(
            f"{each.setting} is no longer set."
            if each.before is None
            else f"{each.setting} is {shown(each.before)} again."
        )
    if added_pair is not None and any(pair.id == added_pair for pair in own_pairs()):
        if read_config().values.get(_PAIR) == added_pair:
            sentences.append(f"The pair {added_pair} is in use, and stays in {own_file()}.")
        else:
            remove_pair(added_pair)
            sentences.append(f"The pair {added_pair} was taken out of {own_file()}; its files stay.")
    return sentences


def _set(name: str, value: Value | None) -> Written:
    known = find_setting(name)
    assert known is not None
    before = read_config().values.get(name)
    write_value(known, value)
    return Written(name, before, value)


def _as_setting(change: Change) -> Value | None:
    """The candidate's value as the file has it; None where that is not to set it."""
    if change.name == "spec":
        return AUTO if change.after is None else ",".join(change.after) or "off"
    if change.after is None:
        return AUTO if change.name in ("depth", "gpu_layers", "draft_gpu_layers") else None
    value: Value = change.after
    return value


def _value(recorded: object) -> Value | None:
    """A value as it is set, from how JSON has it."""
    value: Value | None = tuple(recorded) if isinstance(recorded, list) else recorded  # type: ignore[assignment]
    return value


def _add_pair(trial: Trial) -> str:
    """A pair of the trial's target and the draft that was tried; its id."""
    draft = next(Path(change.after) for change in trial.changes if change.name == "draft")
    catalogue = load_catalogue()
    pair = catalogue.find(trial.pair)
    slug = re.sub(r"[^a-z0-9._-]+", "-", draft.stem.lower()).strip("-._") or "draft"
    name, taken = f"{pair.id}-with-{slug}", {each.id for each in catalogue.pairs}
    numbers = iter(range(2, len(taken) + 3))
    while name in taken:
        name = f"{pair.id}-with-{slug}-{next(numbers)}"
    target = pair.target if pair.target.repo else replace(pair.target, file=str(pair.locate(pair.target)))
    append_pair(
        Pair(
            id=name,
            title=f"{pair.title}, with {draft.stem}",
            target=target,
            draft=ModelFile(file=str(draft), path=draft),
            family=pair.family,
        )
    )
    return name
