"""Free space on the disk of a folder, which need not exist yet."""

from __future__ import annotations

import shutil
from pathlib import Path

RESERVE_BYTES = 2**28
"""Bytes that downloads leave free for other programs."""
_RESERVED_SHARE = 20
"""On a small disk downloads leave this fraction (1/20) free instead."""


def free_bytes(folder: Path) -> int | None:
    """Bytes that can still be written there; None if unknown."""
    usage = _usage(folder)
    return None if usage is None else usage[1]


def reserve_bytes(folder: Path) -> int:
    """Bytes that are to stay free there."""
    usage = _usage(folder)
    return RESERVE_BYTES if usage is None else min(RESERVE_BYTES, usage[0] // _RESERVED_SHARE)


def _usage(folder: Path) -> tuple[int, int] | None:
    """The total and the free bytes of the disk of the nearest existing parent."""
    for place in (folder, *folder.parents):
        try:
            usage = shutil.disk_usage(place)
        except OSError:
            continue
        return usage.total, usage.free
    return None
