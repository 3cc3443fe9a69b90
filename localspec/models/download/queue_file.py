"""The queue of downloads that were asked for and are not done, kept in the user's data for the next start."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from localspec.base.bounded_file import read_file
from localspec.base.file_lock import folder_lock
from localspec.base.paths import user_paths
from localspec.base.shared_file import replace_file

_MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class QueuedDownload:
    """A pair that is to be downloaded."""

    pair_id: str
    title: str
    paused: bool = False
    """True if it waits until the user resumes it."""


def queue_file() -> Path:
    return user_paths().data / "downloads.json"


def read_queue() -> list[QueuedDownload]:
    """The downloads in their order; empty if the file is missing or unreadable."""
    try:
        records = json.loads(read_file(queue_file(), _MOST_BYTES))
        found = [QueuedDownload(**record) for record in records]
    except (OSError, ValueError, TypeError, RecursionError):
        return []
    return [each for each in found if isinstance(each.pair_id, str) and isinstance(each.title, str)]


def write_queue(queue: Sequence[QueuedDownload], own: Container[str]) -> None:
    """Replace the downloads of this program by ``queue``; those of other programs stay behind them.

    ``own`` are the ids of the pairs that this program has read or written before. If the disk refuses, the next start
    does not go on by itself.
    """
    with suppress(OSError), folder_lock(queue_file()):
        now = {each.pair_id for each in queue}
        others = [each for each in read_queue() if each.pair_id not in now and each.pair_id not in own]
        if queue or others or queue_file().exists():
            text = json.dumps([asdict(each) for each in (*queue, *others)], indent=1)
            replace_file(queue_file(), text.encode(), private=True)
