"""The Hugging Face Hub as the environment names it, and lookups in its cache; read only.

The layout is ``models--OWNER--NAME/snapshots/COMMIT/FILE``, shared with every program that uses the Hub. FILE is a link
to ``blobs/CHECKSUM``, or the file itself where links are not supported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePath

from localspec.base.paths import expanded

CERTIFICATE = "Behind a proxy that decrypts connections, set SSL_CERT_FILE to its certificate; else check the clock."
"""The hint where a certificate is not trusted."""
_COMMIT, _SHA256 = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{64}")


def hub_address(environ: Mapping[str, str] = os.environ) -> str:
    """The address of the Hub or of a mirror, as the user gave it."""
    return (environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def is_hub_barred(environ: Mapping[str, str] = os.environ) -> bool:
    """True if the user forbids contact with the Hub."""
    return environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


def hub_cache(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the cache, by the environment variables of ``huggingface_hub``; it need not exist."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if environ.get(variable):
            return _expanded(environ[variable])
    if environ.get("HF_HOME"):
        return _expanded(environ["HF_HOME"]) / "hub"
    return _expanded(environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface" / "hub"


def repo_folder(repo: str, cache: Path | None = None) -> Path:
    """The folder of a repository, by default in the cache of this user."""
    return (cache or hub_cache()) / f"models--{repo.replace('/', '--')}"


def cached_files(repo: str, file: str, *, revision: str | None = None) -> list[Path]:
    """The copies of ``file``: of the wanted revision first, then of the main branch, then the newest."""
    folder = repo_folder(repo)
    wanted = revision and commit_named(repo, revision)
    main = read_ref(folder / "refs" / "main")

    def rank(snapshot: Path) -> tuple[bool, bool, float]:
        return snapshot.name == wanted, snapshot.name == main, snapshot.stat().st_mtime

    try:
        snapshots = sorted(folder.joinpath("snapshots").iterdir(), key=rank, reverse=True)
        # A link to a missing blob is not a file.
        return [path for snapshot in snapshots if (path := snapshot / file).is_file()]
    except OSError:
        return []  # the cache is missing or cannot be read


def commit_named(repo: str, revision: str) -> str:
    """The commit of a branch or a tag when it was last fetched; a commit stands for itself."""
    if _COMMIT.fullmatch(revision):
        return revision
    return read_ref(repo_folder(repo) / "refs" / revision) or revision


def commit_of(copy: Path, file: str) -> str:
    """The commit of the snapshot that contains a copy of ``file``."""
    return copy.parents[len(PurePath(file).parts) - 1].name


def checksum_of(copy: Path) -> str | None:
    """The SHA-256 of a copy, from the name of its blob; None if the copy is not a link to such a blob."""
    try:
        blob = copy.readlink()  # one step only: the blob itself may be a link to another disk
    except OSError:
        return None
    return blob.name if blob.parent.name == "blobs" and _SHA256.fullmatch(blob.name) else None


def _expanded(path: str) -> Path:
    return expanded(os.path.expandvars(path))


def read_ref(path: Path) -> str | None:
    """The commit in the file of a branch or a tag; None if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None  # missing, not text, or an impossible name
