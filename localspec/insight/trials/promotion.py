"""The promotion of a candidate: into the settings of the pair, or for another draft into the user's own pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from localspec.base.errors import LocalSpecError
from localspec.config import Value, find_setting, read_config, setting
from localspec.config.file import write_value
from localspec.config.kinds import AUTO, shown
from localspec.gguf import read_header
from localspec.gguf.draft_heads import DRAFT, drafter_kind
from localspec.insight.trials.trial import Change, PromotedSetting, Trial
from localspec.models.pairs import BUILTIN_ID, load_catalogue
from localspec.models.pairs.pair import ModelFile, Pair
from localspec.models.pairs.user_pairs import append_pairs, own_file, own_pairs, remove_pair

_PAIR, _SPEC, _DEPTH = "model.pair", "speculation.spec", "speculation.depth"
_OFF = "off"


@dataclass(frozen=True, slots=True)
class Promoted:
    """The written settings, as records and in sentences."""

    written: tuple[PromotedSetting, ...] = ()
    added_pair: str | None = None
    sentences: tuple[str, ...] = ()


def promote(trial: Trial) -> Promoted:
    """Write the candidate into the settings, all or nothing. Raises ConfigError, and what adding a pair raises."""
    written: list[PromotedSetting] = []
    added: str | None = None
    sentences: list[str] = []
    try:
        pair_id = trial.pair
        if any(change.name == "draft" for change in trial.changes):
            pair_id = trial.candidate_pair or ""
            if not pair_id:
                pair_id = added = _add_pair(trial)
                sentences.append(f"The pair {added} was added to {own_file()}.")
            if read_config().values.get(_PAIR, BUILTIN_ID) == trial.pair:
                written.append(_set(_PAIR, pair_id))
            else:
                sentences.append(f"--pair {pair_id} uses it.")
        for name, value in _settings(trial, pair_id).items():
            written.append(_set(name, value, pair_id))
    except BaseException:
        undo(tuple(written), added)
        raise
    lines = [
        f"{_name(each)} = {shown(each.after)}" if each.after is not None else f"no {_name(each)}" for each in written
    ]
    if lines:
        sentences.insert(0, f"Written to {read_config().path}: {', '.join(lines)}.")
    return Promoted(tuple(written), added, tuple(sentences))


def undo(written: tuple[PromotedSetting, ...], added_pair: str | None) -> list[str]:
    """Restore the settings that ``promote`` wrote, unless changed since; returns sentences. Raises ConfigError."""
    sentences = []
    for each in reversed(written):
        now = read_config().of_pair(each.pair).get(each.setting)
        if now != _value(each.after):
            sentences.append(f"{_name(each)} was changed since, and stays.")
            continue
        _set(each.setting, _value(each.before), each.pair)
        sentences.append(
            f"{_name(each)} is no longer set."
            if each.before is None
            else f"{_name(each)} is {shown(each.before)} again."
        )
    if added_pair is not None and any(pair.id == added_pair for pair in own_pairs()):
        if read_config().values.get(_PAIR) == added_pair:
            sentences.append(f"The pair {added_pair} is in use, and stays in {own_file()}.")
        else:
            remove_pair(added_pair)
            sentences.append(f"The pair {added_pair} was taken out of {own_file()}; its files stay.")
    return sentences


def _settings(trial: Trial, pair_id: str) -> dict[str, Value | None]:
    """The settings to write for the pair: those of the candidate.

    For another pair than the trial's, also the settings of the trial's pair that it does not have itself.
    """
    config = read_config()
    has = config.of_pair(pair_id)
    inherited = {name: value for name, value in config.of_pair(trial.pair).items() if name not in has}
    tried = {setting(each.name).name: _as_setting(each) for each in trial.changes if each.name != "draft"}
    if tried.get(_SPEC) == _OFF and _DEPTH in tried:
        # Without drafters a depth would be a contradiction in the file.
        tried[_DEPTH] = None
    return inherited | tried


def _set(name: str, value: Value | None, pair: str | None = None) -> PromotedSetting:
    known = find_setting(name)
    assert known is not None
    before = read_config().of_pair(pair).get(name)
    write_value(known, value, pair)
    return PromotedSetting(name, before, value, pair)


def _name(written: PromotedSetting) -> str:
    """The name of the setting in the file."""
    known = find_setting(written.setting)
    return written.setting if known is None else known.name_in(written.pair)


def _as_setting(change: Change) -> Value | None:
    """The candidate's value in the form of the file; None to leave it unset."""
    if change.name == "spec":
        return AUTO if change.after is None else ",".join(change.after) or _OFF
    if change.after is None:
        return AUTO if change.name in ("depth", "gpu_layers", "draft_gpu_layers") else None
    value: Value = change.after
    return value


def _value(recorded: object) -> Value | None:
    """The value of a setting from its JSON form."""
    value: Value | None = tuple(recorded) if isinstance(recorded, list) else recorded  # type: ignore[assignment]
    return value


def _drafter(draft: Path) -> str:
    """The kind of a draft file; loading says what is wrong with one that cannot be read."""
    try:
        return drafter_kind(read_header(draft))
    except LocalSpecError:
        return DRAFT


def _add_pair(trial: Trial) -> str:
    """Add a pair of the trial's target and the candidate's draft; returns its id."""
    from localspec.models.pairs.addition import free_id  # every start of a chat does without it

    draft = next(Path(change.after) for change in trial.changes if change.name == "draft")
    catalogue = load_catalogue()
    pair = catalogue.find(trial.pair)
    name = free_id(f"{pair.id}-with-{draft.name}", {each.id for each in catalogue.pairs})
    target = pair.target if pair.target.repo else replace(pair.target, file=str(pair.locate(pair.target)))
    append_pairs(
        Pair(
            id=name,
            title=f"{pair.title}, with {draft.stem}",
            target=target,
            draft=ModelFile(file=str(draft), path=draft),
            drafter=_drafter(draft),
            family=pair.family,
        )
    )
    return name
