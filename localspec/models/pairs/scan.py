"""The models on this machine, whoever fetched them: their headers read, grouped by vocabulary, pairs named."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from localspec.base.errors import LocalSpecError, NotFoundError
from localspec.gguf import GgufHeader, read_header
from localspec.models.compatibility import judge_match
from localspec.models.pairs.disk import real
from localspec.models.pairs.draft_size import draft_distance, is_draft_size
from localspec.models.pairs.pair import Pair
from localspec.models.pairs.split_files import parts_of
from localspec.models.pairs.stores import STORES, Found
from localspec.models.pairs.stores.found import in_folder

DEADLINE_S = 30.0
"""What reading headers may take in all; what is left by then is listed as not read."""
FOLDER = "folder"
"""The store of files in a folder that was named."""


@dataclass(frozen=True, slots=True)
class ScannedModel:
    """One model file, and what its header says."""

    path: Path
    store: str
    name: str
    problem: str = ""
    """Why it cannot be used; all below is then unknown."""
    title: str | None = None
    architecture: str | None = None
    file_type: str | None = None
    licence: str | None = None
    size_bytes: int = 0
    fingerprint: str | None = None
    group: int | None = None
    """Models of one group speak the same tokens."""


@dataclass(frozen=True, slots=True)
class PossiblePair:
    """A target, and a draft that fits it by vocabulary and size; or two files of a pair that there is already."""

    target: ScannedModel
    draft: ScannedModel
    pair_id: str | None = None
    """Of the pair that there is."""


@dataclass(frozen=True, slots=True)
class Scan:
    """All that was found."""

    models: tuple[ScannedModel, ...]
    pairs: tuple[PossiblePair, ...]
    """For every target the drafts of known pairs first, then the best."""

    def knowing(self, known: Iterable[Pair]) -> Scan:
        """The same with the ids of known pairs whose two files are among those that were found."""
        models = {real(model.path): model for model in self.models if not model.problem}
        there = [found for pair in known if (found := _found(pair, models)) is not None]
        ids = {(pair.target.path, pair.draft.path) for pair in there}
        others = (pair for pair in self.pairs if (pair.target.path, pair.draft.path) not in ids)
        return replace(self, pairs=(*there, *others))


def _found(pair: Pair, models: Mapping[Path, ScannedModel]) -> PossiblePair | None:
    """None unless both files of a pair are here, and among ``models``."""
    with suppress(NotFoundError):
        files = pair.files()
        target, draft = models.get(real(files.target)), models.get(real(files.draft)) if files.draft else None
        if target is not None and draft is not None:
            return PossiblePair(target, draft, pair.id)
    return None


def find_files(folders: Sequence[Path] = (), environ: Mapping[str, str] = os.environ) -> Iterator[Found]:
    """The model files in every store and in ``folders``, each path once."""
    seen = set[Path]()
    stores = (store(environ) for store in STORES.values())
    named = (in_folder(folder, FOLDER) for folder in folders)
    for found in (each for finds in (*stores, *named) for each in finds):
        place = real(found.path)  # loops of links end somewhere, and are reported when read
        if place not in seen:
            seen.add(place)
            yield found


def scan(
    found: Iterable[Found], *, deadline_s: float = DEADLINE_S, clock: Callable[[], float] = time.monotonic
) -> Scan:
    """Read the headers of what was found; a broken file is listed with its reason."""
    end = clock() + deadline_s
    groups = _Groups()
    models = tuple(_late(each) if clock() > end else _read(each, groups) for each in found)
    whole = [model for model in models if not model.problem]
    pairs = [
        PossiblePair(target, draft)
        for target in whole
        for draft in _drafts(target, whole)
        if groups.fit(target.group, draft.group)
    ]
    return Scan(models, tuple(pairs))


def _drafts(target: ScannedModel, models: Sequence[ScannedModel]) -> list[ScannedModel]:
    right = [model for model in models if is_draft_size(model.size_bytes, target.size_bytes)]
    return sorted(right, key=lambda draft: draft_distance(draft.size_bytes, target.size_bytes))


class _Groups:
    """One header for every vocabulary: whole vocabularies of all files would not fit in memory."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._headers: list[GgufHeader] = []

    def number(self, header: GgufHeader, fingerprint: str) -> int:
        own = header.vocabulary
        key = (fingerprint, own.add_bos and own.bos_id, own.add_eos and own.eos_id)
        if key not in self._numbers:
            self._numbers[key] = len(self._headers)
            self._headers.append(header)
        return self._numbers[key]

    def fit(self, target: int | None, draft: int | None) -> bool:
        if target is None or draft is None:
            return False
        return target == draft or judge_match(self._headers[target], self._headers[draft]).fits


def _late(found: Found) -> ScannedModel:
    return ScannedModel(found.path, found.store, found.name, "It was not read: there were too many for one look.")


def _read(found: Found, groups: _Groups) -> ScannedModel:
    try:
        header, *rest = [read_header(part) for part in parts_of(found.path)]
    except LocalSpecError as error:
        return ScannedModel(found.path, found.store, found.name, str(error))
    if not header.vocabulary.tokens:
        return ScannedModel(found.path, found.store, found.name, "It has no vocabulary, and so is no chat model.")
    fingerprint = header.fingerprint
    return ScannedModel(
        path=found.path,
        store=found.store,
        name=found.name,
        title=header.name,
        architecture=header.architecture,
        file_type=header.file_type,
        licence=header.licence,
        size_bytes=header.size_bytes + sum(part.size_bytes for part in rest),
        fingerprint=fingerprint,
        group=groups.number(header, fingerprint),
    )
