"""Interrupted downloads in the Hub's cache: partial files and their notes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from localspec.models.pairs.disk import file_size, matching
from localspec.models.pairs.hub_cache import cached_files, repo_folder
from localspec.models.pairs.pair import ModelFile
from localspec.models.pairs.split_files import names_of

PART_SUFFIX = ".localspec.part"
"""The suffix of a partial file, after the name of its blob."""
NOTE_SUFFIX = ".localspec.json"
"""The suffix of the note about it: name, full size and the server's validator."""


def read_note(note: Path) -> dict[str, object]:
    """The note about a partial file; empty if it is missing or unreadable."""
    try:
        fields = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An interrupted download of a model file."""

    arrived_bytes: int = 0
    size_bytes: int | None = None
    """The full size; None if unknown."""


def unfinished(model: ModelFile) -> Unfinished:
    """The download of a model that is not complete here; complete files of a split model count as arrived."""
    if model.repo is None:
        return Unfinished()
    names = names_of(model.file)
    if len(names) == 1:
        return _largest(_parts(model.repo, model.file, model.sha256))
    found = [_largest([*_whole(model.repo, name), *_parts(model.repo, name)]) for name in names]
    sizes = [each.size_bytes for each in found]
    whole = None if None in sizes else sum(size or 0 for size in sizes)
    return Unfinished(sum(each.arrived_bytes for each in found), whole)


def _largest(found: Iterable[Unfinished]) -> Unfinished:
    return max(found, key=lambda each: each.arrived_bytes, default=Unfinished())


def _whole(repo: str, name: str) -> Iterator[Unfinished]:
    for path in cached_files(repo, name):
        if (size := file_size(path)) is not None:
            yield Unfinished(size, size)


def _parts(repo: str, name: str, sha256: str | None = None) -> Iterator[Unfinished]:
    """The partial files that may be of this name; with ``sha256``, the one of that content."""
    blobs = repo_folder(repo) / "blobs"
    for part in matching(blobs, f"{sha256 or '*'}{PART_SUFFIX}"):
        note = read_note(part.with_name(part.name.removesuffix(PART_SUFFIX) + NOTE_SUFFIX))
        size, arrived = note.get("size_bytes"), file_size(part)  # complete by now where it is gone
        if arrived is not None and (sha256 is not None or note.get("file") == name):
            yield Unfinished(arrived, size if isinstance(size, int) else None)
