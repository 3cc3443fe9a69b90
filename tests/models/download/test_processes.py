"""Other processes: killed in the midst of it, at work on the same file, or with a small disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock

from localspec.base.errors import DownloadError
from localspec.base.paths import user_paths
from localspec.models.download.downloader import download
from localspec.models.download.events import Delayed
from tests.gguf_files import write
from tests.hub import HubServer
from tests.models.download.support import BIG, World, noise

MIB = 2**20
# Whoever runs the tests in the background of a shell has them ignore Ctrl-C, and all they start.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from localspec.cli import main
main()
"""
DATA = noise(8 * MIB)


@pytest.fixture(autouse=True)
def _files(world: World) -> None:
    world.server.add(BIG, "big.gguf", DATA)


@contextmanager
def child(server: HubServer) -> Iterator[subprocess.Popen[str]]:
    """A process that fetches the file."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.models.download.child", BIG, "big.gguf"],
        env=os.environ | {"HF_ENDPOINT": server.endpoint},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def hold_at(server: HubServer, sent_bytes: int) -> tuple[threading.Event, threading.Event]:
    """The server stops sending there; the first event tells when, the second lets it go on."""
    reached, go_on = threading.Event(), threading.Event()

    def hold(sent: int) -> None:
        if sent >= sent_bytes and not go_on.is_set():
            reached.set()
            go_on.wait(120)

    server.on_bytes = hold
    return reached, go_on


def test_a_killed_process_loses_nothing_and_blocks_nobody(world: World) -> None:
    reached, go_on = hold_at(world.server, 6 * MIB)
    with child(world.server) as process:
        assert reached.wait(120)
        assert process.stdout is not None
        assert process.stdout.readline() == "Progressed\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    held = world.layout().held_bytes
    go_on.set()
    world.server.on_bytes = None
    world.server.sent_bytes = 0
    (path,) = world.fetch()
    assert path.read_bytes() == DATA
    assert held > 0
    # What was on its way when the process died has to come again, and nothing else.
    assert world.server.byte_requests()[-1]["range"] == f"bytes={held}-"


def test_two_processes_fetch_it_once(world: World) -> None:
    with child(world.server) as one, child(world.server) as other:
        outputs = [process.communicate(timeout=120) for process in (one, other)]
    assert [process.returncode for process in (one, other)] == [0, 0], outputs
    assert world.layout().snapshot.read_bytes() == DATA
    assert world.server.sent_bytes == len(DATA)


def test_the_hubs_own_client_is_waited_for(world: World) -> None:
    remote = world.remote()
    layout = world.layout(remote)
    layout.prepare()
    theirs = FileLock(layout.lock)
    with theirs:
        events = download([remote], world.context())
        first = next(events)
        assert isinstance(first, Delayed)
        assert "another program" in first.reason
        assert world.server.sent_bytes == 0
    list(events)
    assert layout.snapshot.read_bytes() == DATA


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB; where none can be mounted the test is skipped."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(tmp_path)], capture_output=True, check=False
    ) if os.geteuid() == 0 else None  # fmt: skip
    if mounted is None or mounted.returncode:
        pytest.skip("no file system can be mounted here")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_disk_that_is_really_full(world: World, small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(small_disk))
    with pytest.raises(DownloadError, match="is full"):
        world.fetch()  # free_bytes of this world says that there is room
    held = world.layout().held_bytes
    assert held > 3 * MIB
    subprocess.run(["mount", "-o", "remount,size=32m", str(small_disk)], check=True)
    world.server.sent_bytes = 0
    (path,) = world.fetch()
    assert path.read_bytes() == DATA
    assert world.server.sent_bytes == len(DATA) - held


def test_a_read_only_disk(world: World, small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    monkeypatch.setenv("HF_HUB_CACHE", str(small_disk / "hub"))
    with pytest.raises(DownloadError, match="cannot be written: the file system is read-only"):
        world.fetch()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_pull_with_its_code_and_keeps_the_part(world: World, number: signal.Signals, code: int) -> None:
    text = f'[[pairs]]\nid = "mine"\ntitle = "Mine"\n[pairs.target]\nrepo = "{BIG}"\nfile = "m.gguf"\n'
    write(user_paths().config / "pairs.toml", text.encode())
    from tests.gguf_files import Tensor, model

    data = model(tensors=[Tensor("t", (1024, 4096))])
    world.server.add(BIG, "m.gguf", data)
    reached, go_on = hold_at(world.server, 8 * MIB)
    command = [sys.executable, "-c", INTERRUPTIBLE, "pairs", "pull", "mine", "--json"]
    process = subprocess.Popen(command, env=os.environ.copy(), stdout=subprocess.PIPE, text=True)
    assert reached.wait(120)
    assert process.stdout is not None
    while json.loads(process.stdout.readline())["event"] != "progress":
        pass
    process.send_signal(number)
    out, _ = process.communicate(timeout=120)
    go_on.set()
    assert process.returncode == code
    assert json.loads(out.splitlines()[-1]) == {"event": "stopped"}
    assert 0 < world.layout(world.remote(file="m.gguf")).held_bytes < len(data)


def test_the_queue_of_downloads_is_read_without_the_clients_that_download() -> None:
    """Every start of the chat reads it."""
    code = "import localspec.models.download.queue_file, sys; sys.exit('httpx2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
