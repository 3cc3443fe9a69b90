"""What has arrived of model files whose download is not finished, as the downloader leaves it in the Hub's cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from localspec.pairs.disk import is_file, matching
from localspec.pairs.hub_cache import cached_files, hub_cache
from localspec.pairs.pair import ModelFile
from localspec.pairs.parts import parts_of

PART_SUFFIX = ".localspec.part"
"""Behind the name of a blob: what has arrived of it."""
NOTE_SUFFIX = ".localspec.json"
"""Likewise: which file that is, and the server's validator."""


def read_note(note: Path) -> dict[str, object]:
    """What is known of a part; empty where nothing is, or nothing that can be read."""
    try:
        said = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def arrived_bytes(model: ModelFile) -> int:
    """Of a file of the Hub that is not here as a whole; of one in several parts those that are complete count too."""
    if model.repo is None:
        return 0
    names = [part.as_posix() for part in parts_of(Path(PurePosixPath(model.file)))]
    whole = model.sha256 if len(names) == 1 else None
    return sum(max(_sizes(model.repo, name, whole, complete=len(names) > 1), default=0) for name in names)


def _sizes(repo: str, name: str, sha256: str | None, *, complete: bool) -> Iterator[int]:
    """Of the parts that can be meant by a name, which is that of the content ``sha256`` if that is known."""
    if complete:
        yield from (path.stat().st_size for path in cached_files(repo, name))
    blobs = hub_cache() / f"models--{repo.replace('/', '--')}" / "blobs"
    for part in matching(blobs, f"{sha256 or '*'}{PART_SUFFIX}"):
        note = part.with_name(part.name.removesuffix(PART_SUFFIX) + NOTE_SUFFIX)
        if is_file(part) and (sha256 is not None or read_note(note).get("file") == name):
            yield part.stat().st_size
