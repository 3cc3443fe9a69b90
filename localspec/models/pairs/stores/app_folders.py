"""Programs that keep models as plain files in a folder: LM Studio, llama.cpp and Jan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from localspec.base.paths import expanded
from localspec.models.pairs.stores.found import Found, home, in_folder

LM_STUDIO, LLAMA_CPP, JAN = "LM Studio", "llama.cpp", "Jan"


def find_lm_studio(environ: Mapping[str, str]) -> Iterator[Found]:
    """``models/OWNER/NAME/FILE`` in its present or its former folder."""
    for folder in (home(environ) / ".lmstudio" / "models", home(environ) / ".cache" / "lm-studio" / "models"):
        yield from in_folder(folder, LM_STUDIO)


def find_llama_cpp(environ: Mapping[str, str]) -> Iterator[Found]:
    """llama.cpp's own downloads: one flat folder, with file names that begin with their repository."""
    if environ.get("LLAMA_CACHE"):
        folders = [expanded(environ["LLAMA_CACHE"])]
    else:
        caches = Path(environ.get("XDG_CACHE_HOME") or home(environ) / ".cache")
        folders = [caches / LLAMA_CPP, home(environ) / "Library" / "Caches" / LLAMA_CPP]
    for folder in folders:
        yield from in_folder(folder, LLAMA_CPP)


def find_jan(environ: Mapping[str, str]) -> Iterator[Found]:
    """``llamacpp/models`` in its data folder, which is the system's or ``~/jan``."""
    own = home(environ)
    data = Path(environ.get("XDG_DATA_HOME") or own / ".local" / "share")
    application = own / "Library" / "Application Support"
    for folder in (own / "jan", data / "Jan" / "data", application / "Jan" / "data"):
        yield from in_folder(folder / "llamacpp" / "models", JAN)
