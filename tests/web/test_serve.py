"""The chat in a browser: who gets in, how many, and what becomes of a tab that goes."""

from __future__ import annotations

import asyncio
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from localspec.base.errors import UsageError
from localspec.runtime.remote.address import is_loopback
from localspec.web import server as web_server
from localspec.web.server import ChatServer

APP = """
import sys
out, source = sys.stdout.buffer, sys.stdin.buffer
def say(kind, data):
    out.write(kind + len(data).to_bytes(4, "big") + data)
    out.flush()
out.write(b"__GANGLION__\\n")
say(b"D", b"hello")
while head := source.read(5):
    data = source.read(int.from_bytes(head[1:], "big"))
    if data == b"die":
        break
    if head[:1] == b"D":
        say(b"D", b"heard " + data)
    elif b"quit" in data:
        open(sys.argv[1], "a").write("quit ")
        break
"""
"""Speaks as a Textual app does to its server: packets of a letter, a length and bytes."""


PATIENCE_S = 60.0


class RealServer(TestServer):
    """As aiohttp runs one outside tests: what a tab has begun is not cancelled when its browser is gone."""

    async def _make_runner(self, **options: Any) -> web.BaseRunner:
        return await super()._make_runner(**{**options, "handler_cancellation": False})


class Browser:
    """A client of a server that runs the stub in place of the chat."""

    def __init__(self, client: TestClient, server: ChatServer, log: Path) -> None:  # type: ignore[type-arg]
        self.client, self.server, self.log = client, server, log
        self.path = "/" + server.url.split("/", 3)[3]

    async def tab(self, **headers: str) -> aiohttp.ClientWebSocketResponse:
        socket: aiohttp.ClientWebSocketResponse = await self.client.ws_connect(f"{self.path}ws", headers=headers)
        assert await socket.receive_bytes(timeout=PATIENCE_S) == b"hello"
        return socket


@asynccontextmanager
async def browser(tmp_path: Path, tabs: int = 1) -> AsyncIterator[Browser]:
    log = tmp_path / "log"
    log.touch()
    command = shlex.join([sys.executable, "-c", APP, str(log)])
    chat = ChatServer(command, "127.0.0.1", 0, tabs=tabs, on_ready=lambda url: None)
    chat._sockets[0].close()
    async with TestClient(RealServer(await chat.make_app())) as client:
        yield Browser(client, chat, log)


async def test_a_tab_is_an_app(tmp_path: Path) -> None:
    """What is typed reaches it, what it draws comes back; a tab that is closed ends it."""
    async with browser(tmp_path) as world:
        socket = await world.tab()
        await socket.send_json(["stdin", "é"])
        assert await socket.receive_bytes(timeout=PATIENCE_S) == "heard é".encode()
        await socket.close()
        async with asyncio.timeout(PATIENCE_S):
            while world.log.read_text() != "quit ":
                await asyncio.sleep(0.01)


async def test_only_the_address_with_the_secret_answers(tmp_path: Path) -> None:
    """Guessing leads nowhere, and secrets differ."""
    async with browser(tmp_path) as world, browser(tmp_path) as other:
        assert world.path != other.path
        assert len(world.path) > 20
        for path in ("/", "/ws", "/static/js/textual.js", other.path):
            assert (await world.client.get(path)).status == 404
        assert (await world.client.get(world.path)).status == 200


async def test_a_page_of_another_site_cannot_connect(tmp_path: Path) -> None:
    """Even one that knows the address."""
    async with browser(tmp_path) as world:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await world.tab(Origin="http://elsewhere.example")
        assert refused.value.status == 403
        own = str(world.client.make_url("/")).rstrip("/")
        await world.tab(Origin=own)


async def test_a_tab_too_many_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And has its place as soon as another goes, also one whose page was loaded in vain: that asks again by itself."""
    monkeypatch.setattr(web_server, "_GRACE_S", 0.05)
    async with browser(tmp_path) as world:
        first = await world.tab()
        page = await world.client.get(world.path)
        assert (page.status, page.headers["Refresh"]) == (503, "2")
        assert "--tabs" in await page.text()
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await world.tab()
        monkeypatch.setattr(web_server, "_GRACE_S", PATIENCE_S)
        await first.close()
        await world.tab()
    async with browser(tmp_path, tabs=2) as world:
        await world.tab()
        await world.tab()


async def test_the_end_of_the_server_ends_the_apps(tmp_path: Path) -> None:
    """In good order, so that nothing is lost."""
    async with browser(tmp_path, tabs=2) as world:
        tabs = [await world.tab() for _ in range(2)]
        closed = [asyncio.create_task(tab.receive()) for tab in tabs]
        await world.client.server.close()
        assert world.log.read_text() == "quit quit "
        assert [(await each).type for each in closed] == [aiohttp.WSMsgType.CLOSE] * 2


async def test_the_page_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    """Every address in it is of this server, and is there."""
    async with browser(tmp_path) as world:
        page = await world.client.get(world.path)
        text = await page.text()
        assert page.headers["Referrer-Policy"] == "no-referrer"
        addresses = re.findall(r'(?:href|src)="(/[^"]+)"|url\("([^"]+)"\)', text)
        named = [one or two for one, two in addresses]
        assert len(named) == 4
        for address in named:
            assert address.startswith(world.path)
            assert (await world.client.get(address)).status == 200
        (socket,) = re.findall(r'websocket-url="([^"]+)"', text)
        assert socket == f"{world.path}ws"


STUBS = """
const terminal = { dataset: { sessionWebsocketUrl: "%s" } };
const [location, window] = [new URL("%s"), { addEventListener() {} }];
const document = { body: {}, getElementById: id => id === "terminal" ? terminal : null };
class MutationObserver { observe() {} }
{ %s }
console.log(terminal.dataset.sessionWebsocketUrl);
"""
"""What a browser has, as far as the page asks for it."""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node to run the page's script with")
@pytest.mark.parametrize(
    ("page", "socket"),
    [
        ("http://127.0.0.1:8000", "ws://127.0.0.1:8000"),
        ("http://[::1]:8000", "ws://[::1]:8000"),
        ("https://chat.example", "wss://chat.example"),
        ("https://chat.example:8443", "wss://chat.example:8443"),
    ],
)
async def test_the_socket_is_encrypted_where_the_page_is(tmp_path: Path, page: str, socket: str) -> None:
    """Behind a proxy that speaks HTTPS, browsers refuse any other."""
    async with browser(tmp_path) as world:
        text = await (await world.client.get(world.path)).text()
    (address,) = re.findall(r'websocket-url="([^"]+)"', text)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    program = STUBS % (address, f"{page}{world.path}?fontsize=9#x", script)
    said = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    assert said.stdout == f"{socket}{world.path}ws\n"


async def test_a_page_that_was_loaded_over_https_can_connect(tmp_path: Path) -> None:
    """Its proxy passes the host on."""
    async with browser(tmp_path) as world:
        await world.tab(Origin=str(world.client.make_url("/")).replace("http:", "https:").rstrip("/"))


def test_a_port_that_is_taken_is_refused() -> None:
    """Before anything is served."""
    first = ChatServer("true", "127.0.0.1", 0, tabs=1, on_ready=lambda url: None)
    with pytest.raises(UsageError, match="--port"):
        ChatServer("true", "127.0.0.1", first.port, tabs=1, on_ready=lambda url: None)
    first._sockets[0].close()


@pytest.mark.parametrize(
    ("host", "own"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_which_addresses_others_reach(host: str, own: bool) -> None:
    """The warning depends on it."""
    assert is_loopback(host) is own


async def test_an_app_that_dies_closes_its_tab(tmp_path: Path) -> None:
    """Without a word, as one that is killed; the page then says that the chat has ended."""
    async with browser(tmp_path) as world:
        socket = await world.tab()
        await socket.send_json(["stdin", "die"])
        message = await socket.receive(timeout=PATIENCE_S)
        assert message.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSING, aiohttp.WSMsgType.CLOSED)
        await world.tab()
