"""The app's downloads over the real downloader and a Hub on loopback."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from localspec.chat.pairs.downloads import Download, Stage
from localspec.chat.pairs.library import PairLibrary
from localspec.chat.pairs.source import LocalPairs
from localspec.models.download.queue_file import read_queue
from localspec.models.pairs import load_catalogue
from localspec.models.pairs.hub_cache import hub_cache
from tests.gguf_files import Tensor, model
from tests.hub import HubServer
from tests.hub.faults import Stall
from tests.models.download.conftest import server as server
from tests.models.pairs.support import hub_pair, write_own
from tests.tui.fakes import NoSettings
from tests.tui.support import LAUNCH

REPO = "Owner/Pair-GGUF"
TARGET = model(tensors=[Tensor("token_embd.weight", (1024, 1000))])
OTHER = model(tensors=[Tensor("token_embd.weight", (512, 1000))])
DRAFT = model(tensors=[Tensor("token_embd.weight", (64, 100))])


@pytest.fixture
def hub(server: HubServer) -> HubServer:
    server.add(REPO, "target.gguf", TARGET)
    server.add(REPO, "draft.gguf", DRAFT)
    write_own(hub_pair("mine", "target.gguf", "draft.gguf", repo=REPO))
    return server


def begun() -> tuple[PairLibrary, threading.Event]:
    """A shelf that is fetching the pair, and what is set at every change."""
    library, changed = PairLibrary(LocalPairs(NoSettings(LAUNCH))), threading.Event()
    library.change_signal.listen(changed.set)
    library.fetch("mine")
    return library, changed


def ended(library: PairLibrary, changed: threading.Event) -> Download:
    """The download once it is over."""
    while (now := library.downloads.get("mine")) is None or now.active:
        assert changed.wait(120), "the download never ended"
        changed.clear()
        library.change_signal.take()
        library.change_signal.arm()
    return now


def test_a_pair_is_fetched_and_marked_as_verified(hub: HubServer) -> None:
    now = ended(*begun())
    assert now.stage is Stage.DONE, now.error
    assert now.percent == "100 %"
    pair = load_catalogue().find("mine")
    assert pair.verified
    assert pair.files().target.read_bytes() == TARGET


def test_a_stop_keeps_the_part_and_a_new_start_goes_on_from_there(hub: HubServer) -> None:
    library, changed = PairLibrary(LocalPairs(NoSettings(LAUNCH))), threading.Event()
    stopped, fetching = threading.Event(), threading.Event()

    def stop_half_way(sent_bytes: int) -> None:
        """In the server's thread: past the headers, once the client has told of progress."""
        if sent_bytes > 2**21 + len(DRAFT) and not stopped.is_set():
            assert fetching.wait(120)
            stopped.set()
            library.downloads.stop("mine")

    def ring() -> None:
        now = library.downloads.get("mine")
        if now is not None and now.progress is not None:
            fetching.set()
        changed.set()

    hub.on_bytes = stop_half_way
    library.downloads._changed = ring
    library.fetch("mine")
    assert ended(library, changed).stage is Stage.PAUSED
    wait_for_quiet()
    part = max(parts(), key=lambda path: path.stat().st_size)  # of the draft there may be one too
    kept = part.stat().st_size
    assert 0 < kept < len(TARGET)
    assert not load_catalogue().find("mine").target.verified
    listed = {pair.id: pair for pair in PairLibrary(LocalPairs(NoSettings(LAUNCH))).world.listed()}
    assert listed["mine"].arrived_bytes == sum(path.stat().st_size for path in parts()), "the next app sees it"

    hub.requests.clear()
    library.fetch("mine")
    assert ended(library, changed).stage is Stage.DONE
    assert f"bytes={kept}-" in [headers.get("range") for headers in hub.byte_requests()]
    assert load_catalogue().find("mine").files().target.read_bytes() == TARGET
    assert parts() == []


def test_a_refusal_is_the_downloads_own_sentence(hub: HubServer) -> None:
    hub.repos[REPO].gated = True
    now = ended(*begun())
    assert now.stage is Stage.FAILED
    assert now.error is not None
    assert now.error.message == f"{REPO} is gated."
    assert "HF_TOKEN" in now.error.hint


def test_offline_is_a_sentence_too(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    now = ended(*begun())
    assert now.error is not None
    assert "HF_HUB_OFFLINE" in str(now.error)


def second(server: HubServer) -> None:
    """Another pair in another repository."""
    server.add("Owner/Other-GGUF", "other.gguf", OTHER)
    write_own(
        hub_pair("mine", "target.gguf", "draft.gguf", repo=REPO)
        + "\n"
        + hub_pair("other", "other.gguf", "draft.gguf", repo="Owner/Other-GGUF")
    )
    server.add("Owner/Other-GGUF", "draft.gguf", DRAFT)


def resumed(*pair_ids: str) -> dict[str, Stage]:
    """The ends of the downloads that the next start goes on with."""
    library, changed = PairLibrary(LocalPairs(NoSettings(LAUNCH))), threading.Event()
    library.change_signal.listen(changed.set)
    library.resume()
    while len(over := [each for name in pair_ids if (each := library.downloads.get(name)) and not each.pending]) < len(
        pair_ids
    ):
        assert changed.wait(120), "the queue never ended"
        changed.clear()
        library.change_signal.take()
        library.change_signal.arm()
    wait_for_quiet()
    library.close()
    return {each.pair_id: each.stage for each in over}


def test_a_queue_survives_a_kill_a_start_without_the_hub_and_a_silent_server(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked for is there in the end, in its order, and a file goes on where it stopped."""
    second(hub)
    half_way, killed = threading.Event(), threading.Event()

    def hold(sent_bytes: int) -> None:
        if any(path.stat().st_size > len(DRAFT) for path in parts()) and not killed.is_set():
            half_way.set()
            killed.wait(120)

    hub.on_bytes = hold
    child = subprocess.Popen([sys.executable, "-m", "tests.tui.queueing", "mine", "other"])
    assert half_way.wait(120)
    child.kill()
    child.wait()
    killed.set()
    hub.on_bytes = None
    assert [each.pair_id for each in read_queue()] == ["mine", "other"]

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert resumed("mine", "other") == {"mine": Stage.FAILED, "other": Stage.FAILED}
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert [each.pair_id for each in read_queue()] == ["mine", "other"], "the next start tries again"

    monkeypatch.setattr("localspec.models.download.hub._READ_TIMEOUT_S", 0.5)
    kept = {f"bytes={path.stat().st_size}-" for path in parts() if path.stat().st_size > len(DRAFT)}
    assert kept
    hub.requests.clear()
    hub.faults[:] = [Stall(2**20)]
    assert resumed("mine", "other") == {"mine": Stage.DONE, "other": Stage.DONE}
    assert kept & {headers.get("range") for headers in hub.byte_requests()}
    assert load_catalogue().find("mine").files().target.read_bytes() == TARGET
    assert load_catalogue().find("other").files().target.read_bytes() == OTHER
    assert read_queue() == []


def wait_for_quiet() -> None:
    """Until the threads of a download that was stopped have ended."""
    names = ("localspec-download", "localspec-pairs")
    while running := [thread for thread in threading.enumerate() if thread.name.startswith(names)]:
        for thread in running:
            with suppress(RuntimeError):  # it is just being started
                thread.join(120)


def parts() -> list[Path]:
    return list(hub_cache().rglob("*.localspec.part"))
