"""Programs that keep models as plain files in a folder: LM Studio, llama.cpp, Jan and GPT4All."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from localspec.base.bounded_file import read_file
from localspec.base.paths import expanded
from localspec.models.pairs.stores.found import Found, home, in_folder

LM_STUDIO, LLAMA_CPP, JAN, GPT4ALL = "LM Studio", "llama.cpp", "Jan", "GPT4All"
_MOST_BYTES = 1_000_000


def find_lm_studio(environ: Mapping[str, str]) -> Iterator[Found]:
    """``models/OWNER/NAME/FILE`` in its present, its former or its moved home, or a folder that its settings name."""
    own = home(environ)
    homes = [own / ".lmstudio", own / ".cache" / "lm-studio", *_named(_text(own / ".lmstudio-home-pointer").strip())]
    folders = [folder for each in homes for folder in (each / "models", *_chosen(each / "settings.json"))]
    for folder in dict.fromkeys(folders):
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
    for folder in (home(environ) / "jan", *(data / "Jan" / "data" for data in _data_folders(environ))):
        yield from in_folder(folder / "llamacpp" / "models", JAN)


def find_gpt4all(environ: Mapping[str, str]) -> Iterator[Found]:
    """A flat folder of the program, and one of its Python package."""
    own = (data / "nomic.ai" / GPT4ALL for data in _data_folders(environ))
    for folder in (*own, home(environ) / ".cache" / "gpt4all"):
        yield from in_folder(folder, GPT4ALL)


def _data_folders(environ: Mapping[str, str]) -> tuple[Path, Path]:
    """The folders for data of programs: of Linux, and of macOS."""
    data = Path(environ.get("XDG_DATA_HOME") or home(environ) / ".local" / "share")
    return data, home(environ) / "Library" / "Application Support"


def _chosen(settings: Path) -> list[Path]:
    """The folder of models that LM Studio's settings name, if they name one."""
    try:
        return _named(str(json.loads(_text(settings))["downloadsFolder"]))
    except (ValueError, TypeError, LookupError, RecursionError):
        return []


def _named(folder: str) -> list[Path]:
    """The folder of this name; none unless it is a whole path."""
    return [Path(folder)] if folder.startswith("/") and "\0" not in folder else []


def _text(path: Path) -> str:
    """The text of a small file; empty if it cannot be read."""
    try:
        return read_file(path, _MOST_BYTES).decode("utf-8-sig")
    except (OSError, ValueError):
        return ""
