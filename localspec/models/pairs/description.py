"""The description of a pair as a flat record, for listings and ``--json``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from localspec.models.fit import Room
from localspec.models.pairs.estimate import Estimate, estimate, known_size
from localspec.models.pairs.expectation import Expectation
from localspec.models.pairs.free_space import free_bytes, reserve_bytes
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
    state, need, fit, speed = state_of(pair), None, None, None
    missing, arrived = _to_download(state)
    if room is not None:
        need = estimate(pair)
        fit = _judge(need, room, missing - arrived)
        speed = _speed(pair, fit, room, expect)
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
        missing_bytes=missing,
        arrived_bytes=arrived,
    )


def describe_all(pairs: Sequence[Pair], room: Room, expect: Expect = unknown_speed) -> list[PairDescription]:
    """Describe pairs as they are now, with their fit, their speed and one recommendation."""
    found = [(pair, describe(pair, room, expect)) for pair in pairs]
    judged = [(pair, each.fit) for pair, each in found if each.fit]
    best = recommend(judged, {each.id: each.speed for _, each in found if each.speed}, quick=reads_quickly(room))
    return [
        replace(each, recommended_here=True, recommended_because=best[1]) if best and pair is best[0] else each
        for pair, each in found
    ]


def _judge(need: Estimate | None, room: Room, fetch_bytes: int) -> Suitability:
    """Judge by memory, and by the disk if something has to be downloaded."""
    fit, cache = judge_fit(need, room), hub_cache()
    free = free_bytes(cache) if fetch_bytes else None
    if fit.colour != RED and free is not None and fetch_bytes + reserve_bytes(cache) > free:
        return Suitability(RED, fetch_bytes, free, "The disk has no room for the download.")
    return fit


def _speed(pair: Pair, fit: Suitability, room: Room, expect: Expect) -> Expectation | None:
    """The expected speed; None for a pair that cannot be loaded, or not with all layers on the GPU."""
    unlike = (RED,) if room.device_bytes is None else (AMBER, RED)
    return None if fit.colour in unlike else expect(pair)


def _to_download(state: PairState) -> tuple[int, int]:
    """Bytes that would have to be downloaded, as far as is known, and bytes of them that are left of earlier attempts.

    A partial draft does not count before the target has begun, as it may be another pair's.
    """
    absent = [file for file in state.files if file.path is None and file.model.path is None]
    parts = [unfinished(file.model) for file in absent]
    missing = sum(part.size_bytes or known_size(file.model) or 0 for file, part in zip(absent, parts, strict=True))
    target = state.files[0]
    has_begun = target.path is not None or (target in absent and parts[0].arrived_bytes > 0)
    return missing, sum(part.arrived_bytes for part in parts) if has_begun else 0


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
