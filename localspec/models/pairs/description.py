"""The description of a pair as a flat record, for listings and ``--json``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localspec.models.fit import Room
from localspec.models.pairs.estimate import Estimate, estimate, known_size
from localspec.models.pairs.expectation import Expectation
from localspec.models.pairs.free_space import free_bytes
from localspec.models.pairs.hub_cache import hub_cache
from localspec.models.pairs.pair import Pair
from localspec.models.pairs.recommendation import reads_quickly, recommend
from localspec.models.pairs.state import HERE, FileState, PairState, state_of
from localspec.models.pairs.suitability import AMBER, RED, Suitability, judge_fit
from localspec.models.pairs.unfinished import unfinished


@dataclass(frozen=True, slots=True)
class FileDescription:
    """The description of one file of a pair."""

    label: str
    path: str | None
    """Its path; None if it is not on this machine."""
    disk_bytes: int | None
    """Bytes it takes on this machine."""
    size_bytes: int | None
    """Its full size, as far as is known."""
    revision: str | None
    sha256: str | None
    licence: str | None
    verified: bool
    verified_on: str | None = None
    """The day of the download that verified it; None if it was not downloaded here."""
    fingerprint: str | None = None
    """The digest of its vocabulary, catalogued or from the download."""


@dataclass(frozen=True, slots=True)
class PairDescription:
    """The description of a pair; ``dataclasses.asdict`` turns it into JSON."""

    id: str
    title: str
    family: str
    drafter: str
    target: str
    draft: str | None
    projector: str | None
    state: str
    size_bytes: int | None
    """The size of all its files; None if one is unknown."""
    available: bool
    reason: str
    """The reason why it is not available; empty if it is."""
    hint: str
    """The step that makes it available."""
    licence: str
    memory_gb: int | None
    recommended: bool
    verified: bool
    note: str
    source: str
    speedup_low: float | None
    speedup_high: float | None
    tour: bool
    files: tuple[FileDescription, ...]
    memory: Estimate | None = None
    """The estimate of its memory, if requested."""
    fit: Suitability | None = None
    speed: Expectation | None = None
    """The speed on this machine, if it is known and was requested."""
    missing_bytes: int = 0
    """Bytes that would have to be downloaded, as far as is known."""
    arrived_bytes: int = 0
    """Bytes of those that an interrupted download has left."""
    recommended_here: bool = False
    """True for the one pair that is recommended for this machine."""
    recommended_because: str = ""


Expect = Callable[[Pair], Expectation | None]
"""The expected speed of a pair; None if it is not known."""


def unknown_speed(pair: Pair) -> None:
    """The ``Expect`` of a machine that was not measured."""


def describe(pair: Pair, room: Room | None = None, expect: Expect = unknown_speed) -> PairDescription:
    """Describe a pair as it is now; with ``room``, also judge whether it fits, and tell its speed."""
    if room is None:
        return _describe(pair, state_of(pair))
    state, need = state_of(pair), estimate(pair)
    fit = _judge(state, need, room, free_bytes(hub_cache()))
    return _describe(pair, state, need, fit, _speed(pair, fit, room, expect))


def describe_all(pairs: Sequence[Pair], room: Room, expect: Expect = unknown_speed) -> list[PairDescription]:
    """Describe pairs as they are now, with their fit, their speed and one recommendation."""
    free = free_bytes(hub_cache())
    states = [(pair, state_of(pair), estimate(pair)) for pair in pairs]
    judged = [(pair, _judge(state, need, room, free)) for pair, state, need in states]
    speeds = [_speed(pair, fit, room, expect) for pair, fit in judged]
    known = {pair.id: speed for (pair, _), speed in zip(judged, speeds, strict=True) if speed}
    best = recommend(judged, known, quick=reads_quickly(room))
    return [
        _describe(pair, state, need, fit, speed, best[1] if best and best[0] is pair else "")
        for (pair, state, need), (_, fit), speed in zip(states, judged, speeds, strict=True)
    ]


def _judge(state: PairState, need: Estimate | None, room: Room, free: int | None) -> Suitability:
    """Judge by memory, and by the disk if something has to be downloaded."""
    fit, fetch = judge_fit(need, room), _missing(state) - _arrived(state)
    if fit.colour != RED and free is not None and fetch > free:
        return Suitability(RED, fetch, free, "The disk has no room for the download.")
    return fit


def _speed(pair: Pair, fit: Suitability, room: Room, expect: Expect) -> Expectation | None:
    """The expected speed; None for a pair that cannot be loaded, or not with all layers on the GPU."""
    unlike = (RED,) if room.device_bytes is None else (AMBER, RED)
    return None if fit.colour in unlike else expect(pair)


def _missing(state: PairState) -> int:
    missing = (file.model for file in state.files if file.path is None and file.model.path is None)
    return sum(unfinished(model).size_bytes or known_size(model) or 0 for model in missing)


def _arrived(state: PairState) -> int:
    """Bytes of interrupted downloads; 0 before the target has begun, as a partial draft may be another pair's."""
    target, *_ = arrived = [unfinished(file.model).arrived_bytes if file.path is None else 0 for file in state.files]
    return sum(arrived) if target or state.files[0].path is not None else 0


def _describe(
    pair: Pair,
    state: PairState,
    need: Estimate | None = None,
    fit: Suitability | None = None,
    speed: Expectation | None = None,
    because: str = "",
) -> PairDescription:
    sizes = [_size(file) for file in state.files]
    return PairDescription(
        id=pair.id,
        title=pair.title,
        family=pair.family,
        drafter=pair.drafter,
        target=pair.target.label,
        draft=pair.draft.label if pair.draft else None,
        projector=pair.projector.label if pair.projector else None,
        state=state.state,
        size_bytes=None if None in sizes else sum(size or 0 for size in sizes),
        available=state.state == HERE,
        reason=state.reason,
        hint=state.hint,
        licence=pair.licence,
        memory_gb=pair.memory_gb,
        recommended=pair.recommended,
        verified=pair.verified,
        note=pair.note,
        source=pair.source,
        speedup_low=pair.speedup_low,
        speedup_high=pair.speedup_high,
        tour=pair.tour,
        files=tuple(_file(file, size) for file, size in zip(state.files, sizes, strict=True)),
        memory=need,
        fit=fit,
        speed=speed,
        missing_bytes=_missing(state),
        arrived_bytes=_arrived(state),
        recommended_here=bool(because),
        recommended_because=because,
    )


def _size(file: FileState) -> int | None:
    return known_size(file.model) if file.size_bytes is None else file.size_bytes


def _file(file: FileState, size_bytes: int | None) -> FileDescription:
    model, proof = file.model, file.model.proof
    return FileDescription(
        label=model.label,
        path=str(file.path) if file.path else None,
        disk_bytes=file.size_bytes,
        size_bytes=size_bytes,
        revision=model.revision or (proof.revision if proof else None),
        sha256=model.sha256 or (proof.sha256 if proof else None),
        licence=model.licence,
        verified=model.verified,
        verified_on=proof.on if proof else None,
        fingerprint=model.fingerprint or (proof.fingerprint if proof else None),
    )
