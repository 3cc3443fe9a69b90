"""Jan: ``llamacpp/models`` in its data folder, which is the system's or ``~/jan``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from localspec.models.pairs.stores.found import Found, home, in_folder

NAME = "Jan"


def find(environ: Mapping[str, str]) -> Iterator[Found]:
    own = home(environ)
    data = Path(environ.get("XDG_DATA_HOME") or own / ".local" / "share")
    application = own / "Library" / "Application Support"
    for folder in (own / "jan", data / "Jan" / "data", application / "Jan" / "data"):
        yield from in_folder(folder / "llamacpp" / "models", NAME)
