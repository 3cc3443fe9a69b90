"""The cache of the Hugging Face Hub: ``models--OWNER--NAME/snapshots/COMMIT/FILE``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from localspec.base.shared_file import resolved
from localspec.models.pairs.disk import is_file, matching
from localspec.models.pairs.hub_cache import hub_cache
from localspec.models.pairs.stores.found import Found, gguf_files

NAME = "Hub"


def find(environ: Mapping[str, str]) -> Iterator[Found]:
    """Every file once, though several snapshots may contain it."""
    for repo, folder in repositories(hub_cache(environ)):
        seen = set[tuple[str, Path]]()
        for snapshot in matching(folder / "snapshots", "*"):
            for path in gguf_files(snapshot):
                file = path.relative_to(snapshot).as_posix()
                if is_file(path) and (file, resolved(path)) not in seen:
                    seen.add((file, resolved(path)))
                    yield Found(path, NAME, f"{repo}:{file}")


def repositories(cache: Path) -> Iterator[tuple[str, Path]]:
    """The repositories of models in the cache, with their folders."""
    for folder in matching(cache, "*"):
        kind, _, repo = folder.name.partition("--")
        if kind == "models" and repo:
            yield repo.replace("--", "/", 1), folder
