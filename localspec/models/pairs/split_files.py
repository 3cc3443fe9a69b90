"""Split models: ``name-00001-of-00003.gguf`` stands for all three files."""

from __future__ import annotations

import re
from pathlib import Path

from localspec.gguf import GgufHeader, read_header

_SPLIT = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
MAX_PARTS = 1000
"""A name with more parts is not taken for that of a split model."""


def parts_of(path: Path) -> list[Path]:
    """The paths of all files of the model whose first is ``path``; they need not exist."""
    split = _SPLIT.search(path.name)
    if not split or int(split[1]) != 1 or not 1 <= int(split[2]) <= MAX_PARTS:
        return [path]
    stem = path.name[: split.start()]
    return [path.with_name(f"{stem}-{number:05}-of-{split[2]}.gguf") for number in range(1, int(split[2]) + 1)]


def read_parts(path: Path) -> list[GgufHeader]:
    """The headers of all files of the model whose first is ``path``. Raises NotFoundError or ModelFileError."""
    return [read_header(part) for part in parts_of(path)]


def stem(file: str) -> str:
    """The name of a file without folders, ending and the number of a part."""
    return re.sub(r"-\d{5}-of-\d{5}$", "", Path(file).stem)


def is_later_part(name: str) -> bool:
    """True for the second and later files of a split model."""
    split = _SPLIT.search(name)
    return split is not None and int(split[1]) > 1
