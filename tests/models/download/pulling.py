"""``localspec pairs pull ID`` in a process that never waits: ``python -m tests.models.download.pulling ID [DISK_MB]``.

With DISK_MB the cache is on a disk of that size, of which a twentieth is in use.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from localspec.cli import main
from localspec.models.download import hub
from localspec.models.download.context import DownloadContext

_IMPATIENT_S = 2.0


def _disk_of(size_bytes: int) -> None:
    """Nothing can be told of a folder that is not there."""

    def usage(folder: Path) -> shutil._ntuple_diskusage:
        if not folder.is_dir():
            raise FileNotFoundError(folder)
        used = size_bytes // 20
        return shutil._ntuple_diskusage(size_bytes, used, size_bytes - used)

    shutil.disk_usage = usage  # type: ignore[assignment]


def pull() -> None:
    pair_id, *disk_mb = sys.argv[1:]
    for text in disk_mb:
        _disk_of(int(text) * 2**20)
    hub._READ_TIMEOUT_S = _IMPATIENT_S
    DownloadContext.pause = lambda self, seconds: self.check()  # type: ignore[method-assign]
    main(["pairs", "pull", pair_id])


if __name__ == "__main__":
    pull()
