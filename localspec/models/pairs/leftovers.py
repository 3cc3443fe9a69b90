"""Files in the Hub's cache that nothing uses: unfinished downloads, and blobs without a link."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from localspec.base.file_lock import is_locked
from localspec.base.shared_file import resolved
from localspec.models.pairs.disk import links_below, matching
from localspec.models.pairs.hub_cache import hub_cache
from localspec.models.pairs.stores.hub import repositories
from localspec.models.pairs.unfinished import NOTE_SUFFIX, PART_SUFFIX

UNFINISHED, UNUSED = "unfinished download", "file no name points to"
_PARTS = (".incomplete", PART_SUFFIX, NOTE_SUFFIX)
"""Suffixes of partial files: the Hub's client's, ours, and our note."""
_IN_USE_S = 600.0
"""A file written within this time may belong to a running download."""
_LOCKS = ".locks"


@dataclass(frozen=True, slots=True)
class Leftover:
    """One unused file."""

    path: Path
    repo: str
    kind: str
    size_bytes: int
    in_use: bool
    """True if its download may still be running: a file of it is locked or was written recently."""


def find_leftovers(cache: Path | None = None, *, now_s: float | None = None) -> list[Leftover]:
    """The unused files in all repositories of the cache, the largest first."""
    now = time.time() if now_s is None else now_s
    found = [each for repo, folder in repositories(cache or hub_cache()) for each in _of_repository(repo, folder, now)]
    return sorted(found, key=lambda each: -each.size_bytes)


def _of_repository(repo: str, folder: Path, now: float) -> Iterator[Leftover]:
    try:
        used = {resolved(path) for path in links_below(folder / "snapshots")}
    except OSError:
        return  # the links in use are not all known
    blobs = [blob for blob in matching(folder / "blobs", "*") if resolved(blob) not in used]
    unused = {blob: status for blob in blobs if (status := _status(blob)) is not None}
    written = dict[str, float]()
    for blob, status in unused.items():
        written[_etag(blob)] = max(written.get(_etag(blob), 0.0), status.st_mtime)
    busy = {etag for etag, at_s in written.items() if now - at_s < _IN_USE_S or _is_downloading(folder, etag)}
    for blob, status in unused.items():
        kind = UNFINISHED if blob.name.endswith(_PARTS) else UNUSED
        yield Leftover(blob, repo, kind, status.st_size, _etag(blob) in busy)


def _status(blob: Path) -> os.stat_result | None:
    """The status of a regular file; None for anything else, and if it is gone."""
    try:
        status = blob.stat()
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _etag(blob: Path) -> str:
    """The ETag at the beginning of the name of a blob, a partial file or a note."""
    return blob.name.partition(".")[0]


def _is_downloading(folder: Path, etag: str) -> bool:
    """True if a program, LocalSpec or the Hub's client, is downloading the file of this ETag."""
    return is_locked(folder.parent / _LOCKS / folder.name / f"{etag}.lock")
