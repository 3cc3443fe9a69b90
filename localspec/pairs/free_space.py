"""Room on the disk that a folder is on."""

from __future__ import annotations

import shutil
from pathlib import Path


def free_bytes(folder: Path) -> int | None:
    """What may still be written there; None if nobody can tell. The folder need not exist yet."""
    for place in (folder, *folder.parents):
        try:
            return shutil.disk_usage(place).free
        except FileNotFoundError:
            continue
        except OSError:
            return None
    return None
