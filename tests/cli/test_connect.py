"""``--connect``: run and the line mode on a LocalSpec elsewhere, and what counts beside it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from localspec.base.errors import EngineError
from localspec.base.paths import user_paths
from localspec.cli.services import Services
from localspec.config import read_config
from localspec.models.pairs import BUILTIN_ID
from localspec.runtime.messages import Message, Role
from localspec.runtime.resolver import SettingsResolver
from localspec.server.app import make_app
from tests.cli.conftest import Localspec
from tests.cli.support import FakeWorld
from tests.config.support import configure
from tests.server.fakes import PAIR, FakeService, said, served

URL = "http://127.0.0.1:1"


@contextmanager
def elsewhere(service: FakeService) -> Iterator[str]:
    """The service behind a socket, in a thread of its own; gives the URL."""
    ready, end = threading.Event(), asyncio.Event()
    found: list[tuple[str, asyncio.AbstractEventLoop]] = []

    async def serve() -> None:
        async with served(make_app(service)) as url:
            found.append((url, asyncio.get_running_loop()))
            ready.set()
            await end.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait(10)
    ((url, loop),) = found
    try:
        yield url
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()


def test_run_replies_with_the_pair_of_the_server(localspec: Localspec) -> None:
    """Its origins are told as those of a pair that is loaded here."""
    service = FakeService([said("Hello", " there")])
    with elsewhere(service) as url:
        done = localspec("run", "--connect", url, "--pair", PAIR, "--json", "Hi", services=Services())
    assert done.code == 0
    events = [json.loads(line) for line in done.out.splitlines()]
    assert events[-1]["text"] == "Hello there"
    assert events[-1]["timings"]["origins"] == {"accepted": 1, "corrected": 2}
    assert events[0]["target"] == "target.gguf"
    assert service.asked[0].model == PAIR


def test_the_line_mode_goes_on_after_a_failure_of_the_server(localspec: Localspec) -> None:
    """Each line is a turn of one conversation; a failure is one of a reply."""
    service = FakeService([said("Hello"), [EngineError("It fell over.")], said("Again")])
    with elsewhere(service) as url:
        done = localspec("--connect", url, "--json", services=Services(), stdin=b"Hi\nAnd?\nWell?\n")
    assert [json.loads(line)["text"] for line in done.out.splitlines() if '"done"' in line] == ["Hello", "Again"]
    assert "It fell over." in done.out
    prompt = service.asked[2].prompt
    assert isinstance(prompt, tuple)
    assert prompt[-1] == Message(Role.USER, "Well?")


def test_no_key_comes_into_a_file(localspec: Localspec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSPEC_API_KEY", "sk-s3cret")
    with elsewhere(FakeService([said("Hello")])) as url:
        assert localspec("--connect", url, "--plain", services=Services(), stdin=b"Hi\n").code == 0
    home = user_paths().data.parent
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    assert not any(b"s3cret" in path.read_bytes() for path in files)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--ctx", "300"), "--ctx is for pairs that are loaded here"),
        (("--target", "a.gguf"), "--connect and --target name two different things"),
    ],
)
def test_what_contradicts_it_is_said(localspec: Localspec, arguments: tuple[str, ...], message: str) -> None:
    done = localspec("run", "--connect", URL, *arguments, "hi")
    assert done.code == 2
    assert message in done.err


def test_a_password_in_the_address_is_refused_and_not_shown(localspec: Localspec) -> None:
    done = localspec("run", "--connect", "http://me:s3cret@gpu", "hi")
    assert done.code == 2
    assert "s3cret" not in done.err


def test_the_setting_counts_and_gives_way(localspec: Localspec) -> None:
    """``--pair`` names a pair of the server, and so does the address; the file's own pair is of this machine."""
    configure(f'[model]\nconnect = "{URL}#org/big"\npair = "{BUILTIN_ID}"\nctx = 300')
    world = FakeWorld()
    for arguments in ((), ("--pair", "small"), ("--connect", "gpu:1"), ("--connect", "none")):
        assert localspec("run", *arguments, "hi", world=world).code == 0
    assert localspec("run", "--target", "big.gguf", "--draft", "small.gguf", "hi", world=world).code == 0
    loaded = [(load.server, load.server_pair) for load in world.loads]
    assert loaded == [(URL, "org/big"), (URL, "small"), ("http://gpu:1", ""), (None, ""), (None, "")]


def test_a_pair_of_this_machine_can_be_chosen_beside_it() -> None:
    """As in the list of pairs; and the way back is the server's."""
    configure(f'[model]\nconnect = "{URL}"')
    settings = SettingsResolver({})
    connected = settings.resolve(read_config())
    assert (connected.load.server, connected.pair_id) == (URL, "127.0.0.1:1")
    assert connected.in_use is not None
    assert connected.in_use.resolve(read_config()).load == connected.load
    here = settings.for_pair(BUILTIN_ID).resolve(read_config())
    assert (here.load.server, here.pair_id) == (None, BUILTIN_ID)
    assert here.in_use is not None
    assert here.in_use.resolve(read_config()).load.target != Path()
