"""What every test gets: a home of its own and no way out to the network."""

from __future__ import annotations

import gc
import os
import re
import signal
import socket
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
from hypothesis import HealthCheck, settings

from localspec.base.gc_scheduler import freeze_heap
from localspec.store import Store

# It reads HF_HUB_OFFLINE at its import: the first test that sets that must not decide for all others.
huggingface_hub.constants.HF_HUB_OFFLINE = False
# Reading the certificates of this machine takes longer than most tests of a server; none of those is trusted by them.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.devnull
# Tests run side by side, so that threads of one evaluation would wait for each other. Children inherit it.
os.environ["OMP_THREAD_LIMIT"] = "1"
# Tests compare replies and scores, and a GPU rounds otherwise for every size of a batch: they see none unless asked to.
if os.environ.get("LOCALSPEC_TESTS_ON_GPU") != "1":
    os.environ.update(CUDA_VISIBLE_DEVICES="-1", HIP_VISIBLE_DEVICES="-1", GGML_VK_VISIBLE_DEVICES="")
# How long an example takes says how busy the machine is, and the first text of all waits for a table of Unicode.
settings.register_profile("localspec", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("localspec")


def pytest_configure() -> None:
    """A shell that starts the tests in the background has them ignore Ctrl-C, and nohup SIGHUP; some send them."""
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: lambda number, frame: None}
    for number, handler in handlers.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collection() -> None:
    """Thousands of tests that stay are not searched for garbage: not while they are found, nor afterwards."""
    gc.disable()
    # Hypothesis imports it late. pytest then parses it, which CPython 3.11.7 can fail to do while a thread of a test
    # parses something, too (gh-106905).
    import hypothesis.strategies._internal.types  # noqa: F401


def pytest_collection_finish() -> None:
    """As the program does; a fifth of the tests' time went there."""
    freeze_heap()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Tests wait for processes and timers: one more than there are cores keeps the cores busy."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(scope="session")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders with numbers; pytest's own looks through the names of all earlier ones, thousands, for each."""
    root = tmp_path_factory.mktemp("tests")
    return (root / str(number) for number in count())


@pytest.fixture
def own_folder(numbered: Iterator[Path]) -> Path:
    """The folder of everything that one test writes."""
    folder = next(numbered)
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def tmp_path(own_folder: Path, request: pytest.FixtureRequest) -> Path:
    """As pytest's, in the folder of the test."""
    path = own_folder / (re.sub(r"\W", "_", request.node.name)[:30] + "0")
    path.mkdir(mode=0o700)
    return path


@pytest.fixture(autouse=True)
def own_home(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the developer's own files out, and the test's files in a folder of their own."""
    home = own_folder / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("LOCALSPEC_HOME", str(home / "localspec"))
    monkeypatch.setenv("HF_HOME", str(home / "hub"))
    for name in (
        "HF_HUB_CACHE",
        "HUGGINGFACE_HUB_CACHE",
        "HF_ENDPOINT",
        "HF_TOKEN",
        "HF_HUB_OFFLINE",
        "LLAMA_CACHE",
        "OLLAMA_MODELS",
        "XDG_CACHE_HOME",
        "XDG_DATA_HOME",
        "NO_COLOR",
        "LOCALSPEC_DEBUG",
    ):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Conversations in a file of their own, without any."""
    opened = Store.open(tmp_path / "history.db")
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def many_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal the tests are started from has no say in what the app looks like."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    # Readline exports the size of the terminal to every process that is started after it.
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections to anything but this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to reach {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
