"""Where the Hugging Face Hub's cache keeps a file; read only.

The layout is ``models--OWNER--NAME/snapshots/COMMIT/FILE``, shared with every program that uses the Hub. FILE is a
link to ``blobs/CHECKSUM``; on a file system without links, and for some Windows accounts, it is the file itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePath

_COMMIT, _SHA256 = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{64}")


def hub_cache(environ: Mapping[str, str] = os.environ) -> Path:
    """The cache's folder, by the variables that ``huggingface_hub`` obeys; it need not exist."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if environ.get(variable):
            return _expanded(environ[variable])
    if environ.get("HF_HOME"):
        return _expanded(environ["HF_HOME"]) / "hub"
    return _expanded(environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface" / "hub"


def cached_files(repo: str, file: str, *, revision: str | None = None, cache: Path | None = None) -> list[Path]:
    """The copies of ``file`` in the cache: the wanted revision's first, then the main branch's, then the newest."""
    folder = _folder(repo, cache)
    wanted = revision and commit_named(repo, revision, cache=cache)
    main = read_ref(folder / "refs" / "main")

    def rank(snapshot: Path) -> tuple[bool, bool, float]:
        return snapshot.name == wanted, snapshot.name == main, snapshot.stat().st_mtime

    try:
        snapshots = sorted(folder.joinpath("snapshots").iterdir(), key=rank, reverse=True)
        # A link to a blob that is gone is not a file, and so no copy.
        return [path for snapshot in snapshots if (path := snapshot / file).is_file()]
    except OSError:
        return []  # a cache that is not there, or may not be read, holds nothing for us


def commit_named(repo: str, revision: str, *, cache: Path | None = None) -> str:
    """The commit that a branch or a tag was when it was last fetched; a commit is its own name."""
    if _COMMIT.fullmatch(revision):
        return revision
    return read_ref(_folder(repo, cache) / "refs" / revision) or revision


def commit_of(copy: Path, file: str) -> str:
    """The commit whose snapshot a copy of ``file`` is in."""
    return copy.parents[len(PurePath(file).parts) - 1].name


def checksum_of(copy: Path) -> str | None:
    """The sha256 of a copy's content, which its blob is named by; None where it is no link to such a blob."""
    try:
        blob = copy.readlink()  # only so far: the blob may well be a link to another disk
    except OSError:
        return None
    return blob.name if blob.parent.name == "blobs" and _SHA256.fullmatch(blob.name) else None


def _folder(repo: str, cache: Path | None) -> Path:
    return (cache or hub_cache()) / f"models--{repo.replace('/', '--')}"


def _expanded(path: str) -> Path:
    # As huggingface_hub does: pathlib would raise for a home that is unknown.
    return Path(os.path.expanduser(os.path.expandvars(path)))  # noqa: PTH111


def read_ref(path: Path) -> str | None:
    """The commit that a branch or a tag stands for; None where there is none to be read."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None  # not there, not text, or a name that no file can have
