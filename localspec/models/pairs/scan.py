"""The scan for models on this machine, of any program: headers are read, grouped by vocabulary, and paired."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from localspec.base.errors import LocalSpecError, NotFoundError
from localspec.base.shared_file import resolved
from localspec.gguf import GgufHeader, Vocabulary
from localspec.gguf.draft_heads import DRAFT, drafter_kind
from localspec.models.compatibility import judge_match
from localspec.models.embedders import EMBEDDER, is_embedder, wordless
from localspec.models.pairs.draft_size import draft_distance, is_draft_size
from localspec.models.pairs.pair import Pair
from localspec.models.pairs.split_files import read_parts
from localspec.models.pairs.stores import STORES, Found
from localspec.models.pairs.stores.found import in_folder
from localspec.models.projectors import has_projector, is_projector

DEADLINE_S = 30.0
"""The time limit for reading headers; later files are listed as not read."""
_TOKENIZER = ("tokenizer.ggml.tokens", "tokenizer.ggml.scores", "tokenizer.ggml.token_type", "tokenizer.ggml.merges")
"""The long metadata, which nothing is judged by once the vocabulary is read."""
FOLDER = "folder"
"""The name of the store for folders given on the command line."""


@dataclass(frozen=True, slots=True)
class ScannedModel:
    """A model file with facts from its header."""

    path: Path
    store: str
    name: str
    problem: str = ""
    """The reason why it writes no text; most fields below are then empty."""
    title: str | None = None
    architecture: str | None = None
    file_type: str | None = None
    licence: str | None = None
    size_bytes: int = 0
    fingerprint: str | None = None
    group: int | None = None
    """The number of its group; models of a group have the same vocabulary."""
    drafter: str = DRAFT
    """The kind of drafter that it can be: a model of its own, or heads, which are no target."""


@dataclass(frozen=True, slots=True)
class PossiblePair:
    """A target with a draft that fits by vocabulary and size or a head for it, or the two files of a known pair."""

    target: ScannedModel
    draft: ScannedModel
    pair_id: str | None = None
    """The id of the known pair; None for a new one."""


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of a scan."""

    models: tuple[ScannedModel, ...]
    pairs: tuple[PossiblePair, ...]
    """Known pairs first, then for every target its drafts, the best first."""

    def knowing(self, known: Iterable[Pair]) -> Scan:
        """The scan with known pairs marked, if both their files were found."""
        models = {resolved(model.path): model for model in self.models if not model.problem}
        there = [found for pair in known if (found := _found(pair, models)) is not None]
        ids = {(pair.target.path, pair.draft.path) for pair in there}
        others = (pair for pair in self.pairs if (pair.target.path, pair.draft.path) not in ids)
        return replace(self, pairs=(*there, *others))


def _found(pair: Pair, models: Mapping[Path, ScannedModel]) -> PossiblePair | None:
    """The possible pair of a known one; None unless both its files are among ``models``."""
    with suppress(NotFoundError):
        files = pair.files()
        target, draft = models.get(resolved(files.target)), models.get(resolved(files.draft)) if files.draft else None
        if target is not None and draft is not None:
            return PossiblePair(target, draft, pair.id)
    return None


def find_files(folders: Sequence[Path] = (), environ: Mapping[str, str] = os.environ) -> Iterator[Found]:
    """The model files in every store and in ``folders``, each once."""
    named = (in_folder(folder, FOLDER) for folder in folders)
    return each_once(chain(find_names(environ), *named))


def find_names(environ: Mapping[str, str] = os.environ) -> Iterator[Found]:
    """The model files in every store under all their names: with Ollama several may stand for one file."""
    return chain.from_iterable(store(environ) for store in STORES.values())


def each_once(found: Iterable[Found]) -> Iterator[Found]:
    """Each file under its first name."""
    seen = set[Path]()
    for each in found:
        place = resolved(each.path)  # circular links are reported when they are read
        if place not in seen:
            seen.add(place)
            yield each


def scan(
    found: Iterable[Found], *, deadline_s: float = DEADLINE_S, clock: Callable[[], float] = time.monotonic
) -> Scan:
    """Read the headers of files; a broken one is listed with the reason."""
    end = clock() + deadline_s
    groups = _Groups()
    models = tuple(_late(each) if clock() > end else _read(each, groups) for each in found)
    whole = [model for model in models if not model.problem]
    targets = [model for model in whole if model.drafter == DRAFT]
    pairs = [
        PossiblePair(target, draft)
        for target in targets
        for draft in _drafts(target, whole)
        if groups.fit(target, draft)
    ]
    return Scan(models, tuple(pairs))


def _drafts(target: ScannedModel, models: Sequence[ScannedModel]) -> list[ScannedModel]:
    """Heads, then models of the size of a draft, the best first."""

    def order(draft: ScannedModel) -> tuple[bool, float]:
        return draft.drafter == DRAFT, draft_distance(draft.size_bytes, target.size_bytes)

    right = (model for model in models if model.drafter != DRAFT or is_draft_size(model.size_bytes, target.size_bytes))
    return sorted(right, key=order)


class _Groups:
    """The headers of all files, one vocabulary for each group: those of all would not fit in memory."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._vocabularies: list[Vocabulary] = []
        self._headers: dict[Path, GgufHeader] = {}

    def number(self, path: Path, header: GgufHeader, fingerprint: str) -> int:
        """Keep a header, and return the number of its group."""
        own = header.vocabulary
        # With the flags: token 0 and no token are equal numbers to Python.
        ends = own.add_bos, own.add_bos and own.bos_id, own.add_eos, own.add_eos and own.eos_id
        key = (fingerprint, ends)
        number = self._numbers.setdefault(key, len(self._vocabularies))
        if number == len(self._vocabularies):
            self._vocabularies.append(own)
        small = {name: value for name, value in header.metadata.items() if not name.startswith(_TOKENIZER)}
        self._headers[path] = replace(header, metadata=small, vocabulary=self._vocabularies[number])
        return number

    def fit(self, target: ScannedModel, draft: ScannedModel) -> bool:
        if target.group == draft.group and draft.drafter == DRAFT:
            return True
        return judge_match(self._headers[target.path], self._headers[draft.path], target.path).fits


def _late(found: Found) -> ScannedModel:
    return ScannedModel(found.path, found.store, found.name, "It was not read: the scan took too long.")


def _read(found: Found, groups: _Groups) -> ScannedModel:
    try:
        header, *rest = read_parts(found.path)
    except LocalSpecError as error:
        return ScannedModel(found.path, found.store, found.name, str(error))
    if is_projector(header):
        return ScannedModel(found.path, found.store, found.name, "It is a projector, which reads images for a model.")
    if kind := wordless(header):
        problem = EMBEDDER if is_embedder(header) else f"It is {kind}, which writes no text."
        return ScannedModel(found.path, found.store, found.name, problem, architecture=header.architecture)
    if has_projector(header):
        problem = "Its projector is in the same file, as Ollama makes some, which llama.cpp cannot load."
        return ScannedModel(found.path, found.store, found.name, problem)
    if not header.vocabulary.tokens:
        return ScannedModel(found.path, found.store, found.name, "It has no vocabulary, so it is not a chat model.")
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
        group=groups.number(found.path, header, fingerprint),
        drafter=drafter_kind(header),
    )
