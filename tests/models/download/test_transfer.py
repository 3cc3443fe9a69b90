"""One file's transfer by itself: what it tells, and what it takes from a server that sends something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from localspec.models.download.context import DownloadContext, Stopped
from localspec.models.download.events import Delayed, DownloadEvent
from localspec.models.download.partial_file import PartialFile
from localspec.models.download.refusals import TransientError
from localspec.models.download.transfer import Transfer
from tests.models.download.support import BIG, World, noise

MIB = 2**20
DATA = noise(3 * MIB)


@pytest.fixture(autouse=True)
def file(world: World) -> None:
    world.server.add(BIG, "big.gguf", DATA)


class Told:
    """A transfer of the world's file, and what it has told."""

    def __init__(self, world: World, around: DownloadContext | None = None) -> None:
        self.reports: list[DownloadEvent] = []
        self.progress: list[tuple[int, int]] = []
        """Bytes on the disk, and those of them that have just come over the network."""
        self.transfer = Transfer(
            world.remote(),
            around or world.context(),
            self.reports.append,
            lambda _, held, arrived: self.progress.append((held, arrived)),
        )


def test_progress_tells_what_is_there_and_counts_only_what_came_over_the_network(world: World) -> None:
    """Through a part that turns out to be wrong: what was there is no download, and starting over is told."""
    layout = world.layout()
    layout.prepare()
    layout.part.write_bytes(bytes(2 * MIB))
    told = Told(world)
    told.transfer.run()
    assert told.progress[:2] == [(MIB, 0), (2 * MIB, 0)]
    assert (0, 0) in told.progress
    assert sum(arrived for _, arrived in told.progress) == world.server.sent_bytes == MIB + len(DATA)
    assert told.progress[-1] == (len(DATA), 0)


def test_a_stop_is_heeded_while_what_is_there_is_read(world: World) -> None:
    layout = world.layout()
    layout.prepare()
    layout.part.write_bytes(DATA[: 2 * MIB])
    around = world.context()
    around.stop.set()
    told = Told(world, around)
    with pytest.raises(Stopped):
        told.transfer.run()
    assert told.progress == [(MIB, 0)]


def test_another_length_than_the_hubs_is_told_before_a_byte_is_taken(world: World) -> None:
    told = Told(world)
    layout = world.layout()
    layout.prepare()
    with PartialFile(layout, world.free_bytes) as part, pytest.raises(TransientError, match="sends 5 bytes"):
        told.transfer._accept(httpx2.Response(200, headers={"content-length": "5"}), part)


def test_nothing_beyond_the_files_length_reaches_the_disk(world: World) -> None:
    class TooLong:
        def iter_raw(self) -> Iterator[bytes]:
            yield DATA[:MIB]
            yield DATA[MIB:] + b"more"

    told = Told(world)
    layout = world.layout()
    layout.prepare()
    body: Any = TooLong()
    with PartialFile(layout, world.free_bytes) as part:
        told.transfer._take(body, part)
        assert part.is_verified()


def test_a_wait_for_another_program_is_told_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def held_by_another(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
        for _ in range(3):
            waiting()
        yield

    monkeypatch.setattr("localspec.models.download.transfer.download_lock", held_by_another)
    told = Told(world)
    told.transfer.run()
    waits = [report for report in told.reports if isinstance(report, Delayed)]
    assert [report.reason for report in waits] == ["another program is downloading it"]


@pytest.mark.parametrize(("etag", "validator"), [('"a"', '"a"'), ('W/"a"', None), ("", None)])
def test_only_a_strong_etag_is_sent_back(world: World, etag: str, validator: str | None) -> None:
    """A weak one may stand for other bytes (RFC 9110, 13.1.5)."""
    told = Told(world)
    layout = world.layout()
    layout.prepare()
    with PartialFile(layout, world.free_bytes) as part:
        told.transfer._accept(httpx2.Response(200, headers={"etag": etag}), part)
        assert part.validator == validator
