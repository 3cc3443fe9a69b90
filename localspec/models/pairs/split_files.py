"""Models in several files: ``name-00001-of-00003.gguf`` stands for all three."""

from __future__ import annotations

import re
from pathlib import Path

_SPLIT = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
MAX_PARTS = 1000
"""More than that, and the name only looks like one."""


def parts_of(path: Path) -> list[Path]:
    """All files of the model that begins with ``path``, whether they are there or not; mostly that one."""
    split = _SPLIT.search(path.name)
    if not split or int(split[1]) != 1 or not 1 <= int(split[2]) <= MAX_PARTS:
        return [path]
    stem = path.name[: split.start()]
    return [path.with_name(f"{stem}-{number:05}-of-{split[2]}.gguf") for number in range(1, int(split[2]) + 1)]


def is_later_part(name: str) -> bool:
    """Whether a file only continues another."""
    split = _SPLIT.search(name)
    return split is not None and int(split[1]) > 1
