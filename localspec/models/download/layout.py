"""The place of a file in the Hub's cache, written as ``huggingface_hub`` writes it.

Blobs are named by ETag, ``snapshots/COMMIT/`` links to them, ``refs/`` has the commit of a branch, and the lock files
are the same. A partial file lies beside its blob under a name of our own, which the Hub's client neither uses nor
prunes.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from uuid import uuid4

from localspec.base.errors import OWN_CACHE, DownloadError, explaining
from localspec.base.shared_file import replace_file
from localspec.models.download.remote_file import RemoteFile
from localspec.models.pairs.disk import file_size
from localspec.models.pairs.hub_cache import repo_folder
from localspec.models.pairs.unfinished import NOTE_SUFFIX, PART_SUFFIX


@dataclass(frozen=True, slots=True)
class CacheLayout:
    """The paths of one file."""

    cache: Path
    remote: RemoteFile

    @property
    def repo_folder(self) -> Path:
        return repo_folder(self.remote.repo, self.cache)

    @property
    def blob(self) -> Path:
        return self.repo_folder / "blobs" / self.remote.etag

    @property
    def part(self) -> Path:
        """The partial file."""
        return self.blob.with_name(self.blob.name + PART_SUFFIX)

    @property
    def note(self) -> Path:
        """The note about the partial file."""
        return self.blob.with_name(self.blob.name + NOTE_SUFFIX)

    @property
    def lock(self) -> Path:
        return self.cache / ".locks" / self.repo_folder.name / f"{self.remote.etag}.lock"

    @property
    def snapshot(self) -> Path:
        """The path that programs open."""
        return self.repo_folder / "snapshots" / self.remote.commit / self.remote.file

    @property
    def complete(self) -> bool:
        """True if the whole file is here: as a blob, or, without links, under its name."""
        return self.published or file_size(self.blob) == self.remote.size_bytes

    @property
    def published(self) -> bool:
        """True if the whole file is at ``snapshot``."""
        return file_size(self.snapshot) == self.remote.size_bytes

    @property
    def held_bytes(self) -> int:
        """Bytes of the file on the disk, verified or not."""
        if self.complete:
            return self.remote.size_bytes
        return min(file_size(self.part) or 0, self.remote.size_bytes)

    def prepare(self) -> None:
        """Create the folders. Raises DownloadError."""
        check_name(self.remote.file)
        check_name(self.remote.revision)
        with explained(self.cache):
            for folder in (self.blob.parent, self.lock.parent, self.snapshot.parent):
                folder.mkdir(parents=True, exist_ok=True)

    def publish(self) -> Path:
        """Link the blob from ``snapshot``, or move it there where links are not supported; return that path."""
        with explained(self.cache):
            if not _leads_to(self.snapshot, self.blob):
                self._link()
            if self.remote.revision != self.remote.commit:
                _write_ref(self.repo_folder / "refs" / self.remote.revision, self.remote.commit)
        return self.snapshot

    def _link(self) -> None:
        # Made under another name and renamed, so that no program finds a name without a file.
        temporary = self.snapshot.with_name(f".{uuid4().hex[:8]}.localspec")
        try:
            temporary.symlink_to(os.path.relpath(self.blob, self.snapshot.parent))
        except OSError:  # a file system without links
            self.blob.replace(self.snapshot)
        else:
            temporary.replace(self.snapshot)


def check_name(file: str) -> None:
    """Raise DownloadError for a name that leads out of its repository."""
    path = PurePosixPath(file)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in file or "\0" in file:
        raise DownloadError(f"{file!r} is not a valid name in a repository.", "Check the name.")


def explained(cache: Path) -> AbstractContextManager[None]:
    """Turn an OSError into a DownloadError about the cache."""
    return explaining(DownloadError, f"The cache {cache} cannot be written", OWN_CACHE)


def _leads_to(link: Path, blob: Path) -> bool:
    if link.is_symlink():
        return blob.exists() and link.resolve() == blob.resolve()
    return link.is_file() and not blob.exists()


def _write_ref(ref: Path, commit: str) -> None:
    try:
        if ref.read_text(encoding="utf-8") == commit:
            return
    except (OSError, UnicodeDecodeError):
        pass  # it is written anew
    replace_file(ref, commit.encode())
