"""A pair in a flat record, for a listing or for ``--json``."""

from __future__ import annotations

from dataclasses import dataclass

from localspec.errors import NotFoundError
from localspec.pairs.pair import ModelFile, Pair


@dataclass(frozen=True, slots=True)
class PairDescription:
    """What a listing shows of a pair; ``dataclasses.asdict`` makes it JSON."""

    id: str
    title: str
    target: str
    draft: str | None
    size_bytes: int | None
    """Of all its files; None while that of one is unknown."""
    available: bool
    reason: str
    """Why it is not available; empty if it is."""
    hint: str
    """What to do about that."""
    licence: str
    memory_gb: int | None
    recommended: bool
    verified: bool
    note: str
    source: str
    tour: bool


def describe(pair: Pair) -> PairDescription:
    """The pair as it is now: its files are looked for."""
    problems = [problem for model in pair.models if (problem := _problem(model))]
    sizes = [_size(model) for model in pair.models]
    return PairDescription(
        id=pair.id,
        title=pair.title,
        target=pair.target.label,
        draft=pair.draft.label if pair.draft else None,
        size_bytes=None if None in sizes else sum(size or 0 for size in sizes),
        available=not problems,
        reason=" ".join(problem.message for problem in problems),
        hint=" ".join(problem.hint for problem in problems),
        licence=pair.licence,
        memory_gb=pair.memory_gb,
        recommended=pair.recommended,
        verified=pair.verified,
        note=pair.note,
        source=pair.source,
        tour=pair.tour,
    )


def _problem(model: ModelFile) -> NotFoundError | None:
    try:
        model.locate()
    except NotFoundError as error:
        return error
    return None


def _size(model: ModelFile) -> int | None:
    if model.size_bytes is None and _problem(model) is None:
        return model.locate().stat().st_size
    return model.size_bytes
