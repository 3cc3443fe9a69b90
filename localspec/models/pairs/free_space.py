"""Room on the disk that a folder is on, or will be once it is made."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

RESERVE_BYTES = 2**28
"""Left free on the disk by downloads, for everything else that runs."""
_RESERVED_SHARE = 20
"""A small disk is left one part in so many free: the usual reserve would be most of it."""


class _Usage(NamedTuple):
    total: int
    free: int


def free_bytes(folder: Path) -> int | None:
    """Bytes that may still be written there; None if nobody can tell."""
    usage = _usage(folder)
    return None if usage is None else usage.free


def reserve_bytes(folder: Path) -> int:
    """Bytes that are to stay free there."""
    usage = _usage(folder)
    return RESERVE_BYTES if usage is None else min(RESERVE_BYTES, usage.total // _RESERVED_SHARE)


def _usage(folder: Path) -> _Usage | None:
    """Of the nearest parent that is there and may be looked at: its disk is the folder's."""
    for place in (folder, *folder.parents):
        try:
            usage = shutil.disk_usage(place)
        except OSError:
            continue
        return _Usage(usage.total, usage.free)
    return None
