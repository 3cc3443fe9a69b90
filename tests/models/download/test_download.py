"""Files arrive whole or not at all, in the place where every program looks, and nothing is fetched twice."""

from __future__ import annotations

import errno
import io
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest
from huggingface_hub import hf_hub_download, scan_cache_dir

from localspec.base.errors import DownloadError
from localspec.models.download.downloader import download
from localspec.models.download.events import Delayed, Fetched, Progressed
from localspec.models.download.partial_file import PartialFile
from localspec.models.download.source import begins_at
from localspec.models.pairs.free_space import free_bytes
from localspec.models.pairs.hub_cache import cached_files
from localspec.models.pairs.unfinished import read_note
from tests.hub import Cut, Elsewhere, Fault, IgnoreRange, OtherContent, OtherRange, Page, Refuse, Stall, WrongBytes
from tests.hub.faults import schedule
from tests.models.download.support import BIG, SMALL, World, noise

MIB = 2**20
DATA = noise(3 * MIB)


@pytest.fixture(autouse=True)
def _files(world: World) -> None:
    world.server.add(BIG, "big.gguf", DATA)
    world.server.add(SMALL, "sub/small.gguf", DATA[:MIB])


# Where it goes


def test_the_hubs_own_client_finds_what_was_fetched(world: World) -> None:
    (path,) = world.fetch()
    assert path.read_bytes() == DATA
    assert path.is_symlink()
    found = hf_hub_download(BIG, "big.gguf", cache_dir=world.cache, local_files_only=True)
    assert Path(found) == path
    (repo,) = scan_cache_dir(world.cache).repos
    (revision,) = repo.revisions
    assert repo.repo_id == BIG
    assert revision.refs == {"main"}
    assert [file.file_name for file in revision.files] == ["big.gguf"]
    assert cached_files(BIG, "big.gguf") == [path]


def test_what_the_hubs_own_client_fetched_costs_no_byte(world: World) -> None:
    theirs = hf_hub_download(BIG, "big.gguf", cache_dir=world.cache, endpoint=world.server.endpoint)
    world.server.sent_bytes = 0
    (path,) = world.fetch()
    assert path == Path(theirs)
    assert world.server.sent_bytes == 0
    assert isinstance(world.events[-1], Fetched)
    assert world.events[-1].fetched_bytes == 0


def test_a_file_in_a_folder_and_one_the_hub_serves_itself(world: World) -> None:
    world.server.add("Owner/Plain", "tiny.gguf", b"small", plain=True)
    small, plain = world.fetch([world.remote(SMALL, "sub/small.gguf"), world.remote("Owner/Plain", "tiny.gguf")])
    assert {small.name, plain.name} == {"small.gguf", "tiny.gguf"}


def test_without_links_the_file_lies_under_its_name(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    (path,) = world.fetch()
    assert not path.is_symlink()
    assert path.read_bytes() == DATA
    world.server.sent_bytes = 0
    world.fetch()
    assert world.server.sent_bytes == 0


def test_a_pinned_commit_leaves_the_branch_alone(world: World) -> None:
    world.fetch([world.remote(revision=world.server.repos[BIG].commit)])
    assert not (world.cache / f"models--{BIG.replace('/', '--')}" / "refs").exists()


# Interrupted


def test_a_cut_goes_on_where_it_stopped(world: World) -> None:
    world.server.faults = [Cut(MIB), Cut(MIB // 2)]
    (path,) = world.fetch()
    assert path.read_bytes() == DATA
    assert world.server.sent_bytes == len(DATA)
    ranges = [headers.get("range") for headers in world.server.byte_requests()]
    assert ranges == [None, f"bytes={MIB}-", f"bytes={MIB * 3 // 2}-"]
    assert all("if-range" in headers for headers in world.server.byte_requests()[1:])
    assert [event.wait_s for event in world.events if isinstance(event, Delayed)] == world.waits


def test_a_line_that_keeps_breaking_is_good_enough(world: World) -> None:
    world.server.faults = [Cut(100_000)] * 12
    (path,) = world.fetch()
    assert path.read_bytes() == DATA
    assert world.waits == [0.75] * 12


def test_a_server_that_falls_silent_is_asked_anew(world: World) -> None:
    world.server.faults = [Stall(MIB)]
    (path,) = world.fetch()
    assert path.read_bytes() == DATA
    assert world.server.sent_bytes == len(DATA)
    assert "does not answer" in next(event.reason for event in world.events if isinstance(event, Delayed))


def test_a_later_run_goes_on_where_the_last_stopped(world: World) -> None:
    world.server.faults = [Cut(2 * MIB), *[Refuse(503)] * 7]
    with pytest.raises(DownloadError, match="cannot answer"):
        world.fetch()
    assert world.layout().part.stat().st_size == 2 * MIB
    world.server.sent_bytes = 0
    (path,) = world.fetch()
    assert path.read_bytes() == DATA
    assert world.server.sent_bytes == MIB
    assert world.server.byte_requests()[-1]["if-range"].startswith('"')
    assert sorted(file.name for file in path.resolve().parent.iterdir()) == [world.remote().etag]


def test_a_part_whose_note_is_lost_is_used_all_the_same(world: World) -> None:
    world.server.faults = [Cut(MIB), *[Refuse(503)] * 7]
    with pytest.raises(DownloadError):
        world.fetch()
    world.layout().note.write_text("{")
    world.server.sent_bytes = 0
    (path,) = world.fetch()
    assert path.read_bytes() == DATA
    assert world.server.sent_bytes == 2 * MIB


@pytest.mark.parametrize("fault", [IgnoreRange(), OtherContent(), Refuse(416)])
def test_where_the_rest_cannot_be_had_it_starts_over(world: World, fault: Fault) -> None:
    world.server.faults = [Cut(MIB), fault]
    (path,) = world.fetch()
    assert path.read_bytes() == DATA


def test_a_server_that_never_goes_on_is_given_up(world: World) -> None:
    for _ in range(20):
        world.server.faults += [Cut(MIB), IgnoreRange()]
    world.server.faults = [Cut(MIB + n) for n in range(20)]
    world.server.etag_suffix = "y"
    original = world.server.take_fault

    def always_other() -> Any:
        world.server.etag_suffix += "x"
        return original()

    world.server.take_fault = always_other  # type: ignore[method-assign]
    with pytest.raises(DownloadError, match="does not resume"):
        world.fetch()


def test_a_part_says_which_file_it_is_of_before_anything_has_arrived(world: World) -> None:
    world.server.faults = [Refuse(503)] * 8
    with pytest.raises(DownloadError, match="cannot answer"):
        world.fetch()
    assert read_note(world.layout().note)["file"] == world.remote().file


@pytest.mark.parametrize("seed", range(20))
def test_any_schedule_of_faults_ends_with_the_right_bytes(world: World, seed: int) -> None:
    world.server.faults = schedule(seed, len(DATA))
    for _ in range(4):
        try:
            (path,) = world.fetch()
            break
        except DownloadError:
            world.events.clear()
    assert path.read_bytes() == DATA


# Refused


def test_an_address_that_runs_out_is_renewed_though_the_hub_did_not_answer_before(world: World) -> None:
    """As on a laptop that wakes: a cut, no Hub yet, and by then the old address is refused."""
    remote = world.remote()
    world.server.faults = [Cut(MIB), Refuse(403), Refuse(403)]
    world.server.api_faults = [Refuse(503), Refuse(503)]
    (path,) = world.fetch([remote])
    assert path.read_bytes() == DATA
    assert world.server.sent_bytes == len(DATA)


def test_every_address_of_a_long_download_may_run_out(world: World) -> None:
    world.server.faults = [fault for _ in range(4) for fault in (Cut(MIB // 2), Refuse(403))]
    (path,) = world.fetch()
    assert path.read_bytes() == DATA


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_fresh_address_that_is_refused_is_told_and_no_token_is_blamed(world: World, status: int) -> None:
    world.server.faults = [Cut(MIB), *[Refuse(status)] * 9]
    with pytest.raises(DownloadError, match=f"localhost refuses big.gguf \\(status {status}\\)") as error:
        world.fetch()
    assert "HF_TOKEN" not in str(error.value)
    assert len(world.server.byte_requests()) == 3, "two fresh addresses were tried after the cut"


@pytest.mark.parametrize("address", ["http://[::1", "http://127.0.0.1:99999/x", "ftp://127.0.0.1/x", "http:///x"])
def test_a_storage_that_leads_nowhere_is_asked_again_and_given_up_with_a_sentence(world: World, address: str) -> None:
    world.server.faults = [Cut(MIB), Elsewhere(address)]
    (path,) = world.fetch()
    assert path.read_bytes() == DATA
    path.resolve().unlink()
    world.server.faults = [Cut(MIB), *[Elsewhere(address)] * 7]
    with pytest.raises(DownloadError) as error:
        world.fetch()
    assert error.value.hint.endswith("What has arrived is kept.")


def test_a_token_is_in_question_where_it_was_sent(world: World) -> None:
    world.server.add("Owner/Plain", "tiny.gguf", b"small", plain=True)
    remote = world.remote("Owner/Plain", "tiny.gguf")
    world.hub.token = "someone"
    world.server.api_faults = [Refuse(403), None, Refuse(403), None, Refuse(403)]
    with pytest.raises(DownloadError, match="to this token") as error:
        world.fetch([remote])
    assert "HF_TOKEN" in error.value.hint


def test_a_page_to_sign_in_is_told_at_once(world: World) -> None:
    world.server.faults = [Cut(MIB), Page()]
    with pytest.raises(DownloadError, match=r"sends a web page in place of big\.gguf") as error:
        world.fetch()
    assert "sign-in" in error.value.hint
    assert len(world.waits) == 1, "after the cut"
    assert world.layout().held_bytes == MIB


@pytest.mark.parametrize("arrived", [0, MIB])
def test_what_has_arrived_is_said_to_be_kept_if_anything_has(world: World, arrived: int) -> None:
    world.server.faults = [Cut(arrived), *[Refuse(503)] * 7]
    with pytest.raises(DownloadError, match="cannot answer now") as error:
        world.fetch()
    assert ("kept" in error.value.hint) == (arrived > 0)
    assert world.layout().held_bytes == arrived


def test_a_file_that_changes_on_the_hub_is_not_gone_on_with(world: World) -> None:
    """Told when the address is renewed, not by a checksum once all of it has come."""
    remote = world.remote()
    world.server.add(BIG, "big.gguf", noise(len(DATA), seed=2))
    world.server.faults = [Cut(MIB)]
    with pytest.raises(DownloadError, match="has changed on the Hub during the download"):
        world.fetch([remote])
    assert len(world.server.byte_requests()) == 1


# Wrong


def test_another_range_than_was_asked_for_never_reaches_the_disk(world: World) -> None:
    """It is refused by what it says of itself, before the checksum would find out at the end."""
    world.server.faults = [Cut(MIB), OtherRange()]
    (path,) = world.fetch()
    assert path.read_bytes() == DATA
    reasons = [event.reason for event in world.events if isinstance(event, Delayed)]
    assert reasons[1] == "localhost has a different file than before."
    assert world.server.byte_requests()[-1].get("range") is None
    assert len(world.server.byte_requests()) == 3


@pytest.mark.parametrize(
    ("said", "fits"),
    [
        ("bytes 100-199/200", True), ("bytes 100-199/*", True), ("bytes 101-199/200", False),
        ("bytes 0-199/200", False), ("bytes 100-199/201", False), ("bytes */200", False), ("", False),
        pytest.param(f"bytes {'9' * 5000}-199/200", False, id="a number that Python reads no longer"),
    ],
)  # fmt: skip
def test_a_part_is_known_by_its_range(said: str, fits: bool) -> None:
    assert begins_at(httpx2.Response(206, headers={"Content-Range": said}), 100, 200) is fits


def test_wrong_bytes_are_fetched_again(world: World) -> None:
    world.server.faults = [WrongBytes(2 * MIB)]
    (path,) = world.fetch()
    assert path.read_bytes() == DATA


def test_bytes_that_stay_wrong_are_never_installed(world: World) -> None:
    world.server.faults = [WrongBytes(2 * MIB)] * 3
    with pytest.raises(DownloadError, match="damaged"):
        world.fetch()
    layout = world.layout()
    assert not layout.blob.exists()
    assert not layout.snapshot.exists()
    assert layout.held_bytes == 0


# Waits


def test_waits_double_and_a_server_that_names_a_time_is_obeyed(world: World) -> None:
    world.server.faults = [Refuse(503), Refuse(502), Refuse(500), Refuse(429, retry_after="7")]
    world.fetch()
    assert world.waits == [0.75, 1.5, 3.0, 7.5]


def test_a_server_that_asks_for_too_long_a_wait_is_not_waited_for(world: World) -> None:
    world.server.faults = [Refuse(429, retry_after="3600")]
    with pytest.raises(DownloadError, match="too many requests") as error:
        world.fetch()
    assert "3600 seconds" in error.value.hint
    assert world.waits == []


def test_progress_counts_all_files_and_ends_at_the_whole(world: World) -> None:
    world.fetch([world.remote(), world.remote(SMALL, "sub/small.gguf")])
    told = [event for event in world.events if isinstance(event, Progressed)]
    assert {event.total_bytes for event in told} == {4 * MIB}
    assert told[-1].done_bytes == 4 * MIB


# Disk


def test_too_small_a_disk_is_told_before_a_byte_is_fetched(world: World) -> None:
    world.free_bytes = lambda _: len(DATA)
    with pytest.raises(DownloadError, match=r"3\.1 MB are to be downloaded"):
        world.fetch()
    assert world.server.sent_bytes == 0


@pytest.mark.parametrize(("mb", "fits"), [(210, True), (8, False)])
def test_a_new_cache_on_a_small_disk_is_reckoned_by_the_disk_it_will_be_on(
    world: World, monkeypatch: pytest.MonkeyPatch, mb: int, fits: bool
) -> None:
    """The cache's folder is not there yet; a twentieth of the disk stays free, not more than there is."""
    asked: list[Path] = []

    def usage(folder: Path) -> shutil._ntuple_diskusage:
        asked.append(folder)
        if not folder.is_dir():
            raise FileNotFoundError(folder)
        return shutil._ntuple_diskusage(220 * 10**6, 220 * 10**6 - mb * 10**6, mb * 10**6)

    monkeypatch.setattr("localspec.models.pairs.free_space.shutil.disk_usage", usage)
    world.free_bytes = free_bytes
    if fits:
        assert world.fetch()
    else:
        with pytest.raises(DownloadError, match=r"8\.0 MB free, of which 11\.0 MB are reserved for other programs"):
            world.fetch()
    assert not asked[0].exists() or fits
    assert asked[0] == world.cache


@pytest.mark.parametrize("room", [None, 10**12])
def test_a_disk_with_room_or_of_which_nobody_can_tell_it_is_used(
    world: World, monkeypatch: pytest.MonkeyPatch, room: int | None
) -> None:
    """Before the download and during it."""
    monkeypatch.setattr("localspec.models.download.partial_file._SPACE_CHECK_BYTES", MIB)
    world.free_bytes = lambda _: room
    assert world.fetch()


def test_bytes_are_on_the_disk_before_they_have_their_name(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that loses its power finds the part, or the whole file: never a name for bytes that are not there."""
    calls = []
    sync, rename = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        calls.append(("fsync", os.fstat(descriptor).st_ino))
        sync(descriptor)

    def renamed(path: Path, target: Path) -> Path:
        calls.append(("replace", path.stat().st_ino))
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    (path,) = world.fetch()
    inode = path.stat().st_ino
    assert [name for name, of in calls if of == inode][:2] == ["fsync", "replace"]


def test_a_disk_that_fills_keeps_what_fitted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    class SmallDisk(io.FileIO):
        def write(self, data: Any, /) -> int:
            room = MIB + 7 - self.tell()
            if not room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(memoryview(data)[:room])

    with monkeypatch.context() as patch:
        patch.setattr("localspec.models.download.partial_file.FileIO", SmallDisk)
        with pytest.raises(DownloadError, match="is full"):
            world.fetch()
    assert world.layout().part.stat().st_size == MIB + 7
    world.server.sent_bytes = 0
    (path,) = world.fetch()
    assert path.read_bytes() == DATA
    assert world.server.sent_bytes == len(DATA) - MIB - 7


def test_a_disk_that_takes_a_little_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    class SlowDisk(io.FileIO):
        def write(self, data: Any, /) -> int:
            return super().write(memoryview(data)[:50_000])

    monkeypatch.setattr("localspec.models.download.partial_file.FileIO", SlowDisk)
    (path,) = world.fetch()
    assert path.read_bytes() == DATA
    assert world.server.sent_bytes == len(DATA)


def test_a_disk_that_others_fill_meanwhile_is_left_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localspec.models.download.partial_file._SPACE_CHECK_BYTES", MIB)
    left = iter([10**12, 10**12, 0])
    world.free_bytes = lambda _: next(left)
    with pytest.raises(DownloadError, match="is full"):
        world.fetch()
    assert world.layout().held_bytes > 0


def test_a_cache_that_cannot_be_written_is_told(world: World) -> None:
    world.cache.parent.mkdir(parents=True, exist_ok=True)
    world.cache.write_text("not a folder")
    with pytest.raises(DownloadError, match="cannot be written"):
        world.fetch()


# Stopped, and not alone


def test_closing_the_iterator_keeps_what_has_arrived(world: World) -> None:
    reached = threading.Event()
    go_on = threading.Event()

    def hold(sent: int) -> None:
        if sent >= MIB:
            reached.set()
            go_on.wait(120)

    world.server.on_bytes = hold
    events = download([world.remote()], world.context())
    next(events)
    assert reached.wait(120)
    events_closed = threading.Thread(target=go_on.set)
    events_closed.start()
    events.close()
    world.server.on_bytes = None
    held = world.layout().held_bytes
    assert 0 < held <= len(DATA)
    assert not world.layout().snapshot.exists() or held == len(DATA)


def test_two_at_once_fetch_it_once(world: World) -> None:
    remote = world.remote()
    paths: list[Path] = []

    def fetch() -> None:
        paths.extend(event.path for event in download([remote], world.context()) if isinstance(event, Fetched))

    threads = [threading.Thread(target=fetch) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paths == [world.layout().snapshot] * 2
    assert world.server.sent_bytes == len(DATA)


def test_the_checksum_is_what_decides(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted error: with a check that says yes to anything, wrong bytes would be installed."""
    monkeypatch.setattr(PartialFile, "is_verified", lambda self: True)
    world.server.faults = [WrongBytes(2 * MIB)]
    (path,) = world.fetch()
    assert path.read_bytes() != DATA
