"""Where the Hugging Face Hub's cache keeps a file; read only.

The layout is ``models--OWNER--NAME/snapshots/COMMIT/FILE``, shared with every program that uses the Hub.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


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
    folder = (cache or hub_cache()) / f"models--{repo.replace('/', '--')}"
    main = _first_line(folder / "refs" / "main")

    def rank(snapshot: Path) -> tuple[bool, bool, float]:
        return snapshot.name == revision, snapshot.name == main, snapshot.stat().st_mtime

    try:
        snapshots = sorted(folder.joinpath("snapshots").iterdir(), key=rank, reverse=True)
        # A link to a blob that is gone is not a file, and so no copy.
        return [path for snapshot in snapshots if (path := snapshot / file).is_file()]
    except OSError:
        return []  # a cache that is not there, or may not be read, holds nothing for us


def _expanded(path: str) -> Path:
    # As huggingface_hub does: pathlib would raise for a home that is unknown.
    return Path(os.path.expanduser(os.path.expandvars(path)))  # noqa: PTH111


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
