"""llama.cpp's own downloads: one flat folder, file names that begin with their repository."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from localspec.models.pairs.stores.found import Found, home, in_folder

NAME = "llama.cpp"


def find(environ: Mapping[str, str]) -> Iterator[Found]:
    if environ.get("LLAMA_CACHE"):
        folders = [Path(environ["LLAMA_CACHE"]).expanduser()]
    else:
        caches = Path(environ.get("XDG_CACHE_HOME") or home(environ) / ".cache")
        folders = [caches / NAME, home(environ) / "Library" / "Caches" / NAME]
    for folder in folders:
        yield from in_folder(folder, NAME)
