"""What the pairs take on disk, files that several share counted once."""

from __future__ import annotations

from collections.abc import Iterable

from localspec.models.pairs.disk import is_file, real
from localspec.models.pairs.pair import Pair
from localspec.models.pairs.split_files import parts_of
from localspec.models.pairs.state import state_of


def disk_bytes(pairs: Iterable[Pair]) -> int:
    """Of all files that are here."""
    files = (file.path for pair in pairs for file in state_of(pair).files if file.path is not None)
    parts = {real(part) for path in files for part in parts_of(path)}
    return sum(part.stat().st_size for part in parts if is_file(part))
