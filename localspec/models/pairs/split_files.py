"""Split models: ``name-00001-of-00003.gguf`` stands for all three files."""

from __future__ import annotations

import re
from pathlib import Path, PurePath

from localspec.base.errors import ModelFileError, NotFoundError
from localspec.gguf import GgufHeader, read_header

_SPLIT = re.compile(r"-(\d{5})(-of-(\d{5})\.gguf)$", re.IGNORECASE)
_BLOB = re.compile(r"sha256-[0-9a-f]{64}")
MAX_PARTS = 1000
"""A name with more parts is not taken for that of a split model."""


def parts_of(path: Path) -> list[Path]:
    """The paths of all files of the model whose first is ``path``; they need not exist."""
    split = _SPLIT.search(path.name)
    if not split or int(split[1]) != 1 or not 1 <= int(split[3]) <= MAX_PARTS:
        return [path]
    stem = path.name[: split.start()]
    return [path.with_name(f"{stem}-{number:05}{split[2]}") for number in range(1, int(split[3]) + 1)]


def names_of(file: str) -> list[str]:
    """The names in a repository of all files of the model whose first is ``file``."""
    return list(map(str, parts_of(Path(file))))


def read_parts(path: Path) -> list[GgufHeader]:
    """The headers of all files of the model whose first is ``path``. Raises NotFoundError or ModelFileError."""
    first, *later = parts_of(path)
    headers = [read_header(first)]
    try:
        headers += map(read_header, later)
    except NotFoundError as error:
        raise NotFoundError(error.message, f"It is a part of {first.name}; copy or download it there.") from error
    _check_name(headers[0], len(headers))
    return headers


def _check_name(first: GgufHeader, named_n: int) -> None:
    """Raise ModelFileError unless the name of a split model's first file is the one by which the others are found."""
    n = first.split_count
    if not 1 < n <= MAX_PARTS or n == named_n:
        return
    if first.integer("split.no"):
        raise ModelFileError(f"{first.source} is a later part of a split model.", "Name its first file.")
    raise ModelFileError(
        f"{first.source} is the first of {n} files of a split model, and the others are not found by its name.",
        f"Give all of them their names back: NAME-00001-of-{n:05}.gguf, and so on.",
    )


def stem(file: str) -> str:
    """The name of a file without folders, ``.gguf`` and the number of a part."""
    return re.sub(r"(?i)(-\d{5}-of-\d{5})?\.gguf$", "", PurePath(file).name)


def called(path: Path, title: str | None) -> str:
    """The name of a model for people: of its file, or, where that says nothing, of its folder or in its header.

    Jan calls every file ``model.gguf``, and Ollama's have checksums for names; ``title`` is from the header.
    """
    name = stem(path.name)
    if _BLOB.fullmatch(name):
        return title or name
    return path.parent.name or name if name.lower() == "model" else name


def is_later_part(name: str) -> bool:
    """True for the second and later files of a split model."""
    split = _SPLIT.search(name)
    return split is not None and int(split[1]) > 1
