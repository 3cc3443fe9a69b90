"""The gate of the server, and what clients send: hosts, origins, keys, sizes, halves, hang-ups and slow readers."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import stat
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from localspec.server import http_server, middleware
from localspec.server.access import AccessRules
from localspec.server.app import make_app
from localspec.server.http_server import HttpServer, connections_for, logged
from localspec.server.keys import ApiKey
from localspec.server.service import CLIENT
from tests.server.fakes import FakeService

KEY = "0123456789abcdef"
PATIENCE_S = 30.0


@dataclass
class Served:
    """A server, and what its handlers saw."""

    port: int = 0
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    sent_n: int = 0
    refused: list[str] = field(default_factory=list)
    """The reasons that the service counted."""

    async def echo(self, request: Request) -> Response:
        """The client's name and the length of the body."""
        return PlainTextResponse(f"{CLIENT.get()}:{len(await request.body())}")

    async def wait(self, request: Request) -> Response:
        """Reads the body, then works until it is cancelled."""
        await request.body()
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        raise AssertionError

    async def stream(self, request: Request) -> Response:
        """Sends text without an end."""

        async def pieces() -> AsyncGenerator[bytes]:
            self.begun.set()
            try:
                while True:
                    self.sent_n += 1
                    yield b"x" * 100_000
                    await asyncio.sleep(0)
            finally:
                self.ended.set()

        await request.body()
        return StreamingResponse(pieces())

    async def answer(self, request: bytes) -> tuple[int, str]:
        """The status and the text of the answer to raw bytes; 0 if there is none."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        with suppress(ConnectionError):
            writer.write(request)
            await writer.drain()
        answered = b""
        with suppress(ConnectionError):
            answered = await reader.read()
        writer.close()
        status = re.match(rb"HTTP/1.1 (\d+)", answered)
        return (int(status[1]) if status else 0, answered.decode("latin-1"))


@asynccontextmanager
async def served(
    host: str = "127.0.0.1", keys: tuple[ApiKey, ...] = (), *origins: str, connections: int = 100
) -> AsyncGenerator[Served]:
    service = _Idle()
    found = Served(refused=service.refused)
    routes = [
        Route(f"/v1/{name}", getattr(found, name), methods=["GET", "POST"]) for name in ("echo", "wait", "stream")
    ]
    rules = AccessRules(host, keys, origins)
    app = make_app(FakeService(), routes=routes, middleware=rules.middleware())
    server = HttpServer(app, service, connections=connections)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        found.port = listening.getsockname()[1]
        serving = asyncio.create_task(server.serve([listening]))
        try:
            async with asyncio.timeout(PATIENCE_S):
                yield found
        finally:
            server.stop()
            await serving


class _Idle:
    busy = False

    def __init__(self) -> None:
        self.refused: list[str] = []

    def stop(self) -> None: ...

    def fail_all(self) -> None: ...

    def count_refused(self, reason: str) -> None:
        self.refused.append(reason)


def post(*headers: str, body: bytes = b"{}", path: str = "/v1/echo", host: str = "localhost") -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
    if not any(header.lower().startswith(("content-length", "transfer-encoding")) for header in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


async def test_names_of_this_machine_and_origins() -> None:
    """A page under a rebound name, or of another site, is refused; this machine's own names and no origin are not."""
    async with served() as server:
        for host, status in (
            ("localhost", 200),
            ("LOCALHOST:8484", 200),
            ("127.0.0.1:1", 200),
            ("[::1]:8484", 200),
            ("localhost.", 200),
            ("evil.example", 403),
            ("localhost.evil.example", 403),
            ("127.0.0.1.evil.example", 403),
            ("", 403),
        ):
            assert (await server.answer(post(host=host)))[0] == status, host
        # No browser leaves the host out, and some load balancers do when they ask for the health.
        assert (await server.answer(b"GET /health HTTP/1.0\r\n\r\n"))[0] == 200
        for origin, status in (
            ("http://localhost", 200),
            ("http://evil.example", 403),
            ("null", 403),
            ("http://localhost:1", 403),
            ("http://[", 403),
        ):
            assert (await server.answer(post(f"Origin: {origin}")))[0] == status, origin
        framed = post("Sec-Fetch-Site: cross-site").replace(b"POST", b"GET", 1)
        assert (await server.answer(framed))[0] == 403
        assert (await server.answer(framed.replace(b"cross-site", b"same-origin")))[0] == 200
        assert (await server.answer(framed.replace(b"/v1/echo", b"/health")))[0] == 200
        preflight = post("Origin: http://evil.example", "Access-Control-Request-Method: POST").replace(
            b"POST", b"OPTIONS", 1
        )
        assert "access-control" not in (await server.answer(preflight))[1].lower()
    async with served("127.0.0.1", (), "app://obsidian.md") as server:
        for origin, status in (("app://obsidian.md", 200), ("app://evil", 403)):
            assert (await server.answer(post(f"Origin: {origin}")))[0] == status, origin
    async with served("127.0.0.1", (), "https://good.example") as server:
        allowed = await server.answer(post("Origin: https://good.example"))
        assert allowed[0] == 200
        assert "access-control-allow-origin: https://good.example" in allowed[1].lower()
        assert "access-control-expose-headers: retry-after" in allowed[1].lower()
        for method in ("GET", "POST"):
            asked = post("Origin: https://good.example", f"Access-Control-Request-Method: {method}")
            assert (await server.answer(asked.replace(b"POST", b"OPTIONS", 1)))[0] == 200, method
        for site, status in (("good", 200), ("evil", 400)):
            private = ("Access-Control-Request-Method: POST", "Access-Control-Request-Private-Network: true")
            asked = post(f"Origin: https://{site}.example", *private).replace(b"POST", b"OPTIONS", 1)
            answered = await server.answer(asked)
            assert answered[0] == status, site
            allowed_origin = "access-control-allow-origin: https://good.example" in answered[1].lower()
            assert allowed_origin == (site == "good")
        assert (await server.answer(post("Origin: https://evil.example")))[0] == 403


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("http://localhost:8484/v1/echo", "localhost", 200),
        ("HTTP://127.0.0.1/v1/ech%6f?a=http://b/", "proxy.example", 200),
        ("http://localhost/v1/none", "localhost", 404),
        ("http://localhost/health", "localhost", 405),
        ("http://localhost", "localhost", 404),
        ("http://evil.example/v1/echo", "localhost", 403),
        ("http://localhost@evil.example/v1/echo", "localhost", 403),
        ("http:///v1/echo", "localhost", 403),
    ],
)
async def test_a_target_may_be_a_whole_url_whose_host_counts(target: str, host: str, status: int) -> None:
    """As RFC 9112 has it; proxies send such targets."""
    async with served() as server:
        assert (await server.answer(post(path=target, host=host)))[0] == status


async def test_a_compressed_body_is_refused_by_its_name() -> None:
    async with served() as server:
        status, text = await server.answer(post("Content-Encoding: gzip"))
        assert (status, "compressed (gzip)" in text) == (415, True)
        assert (await server.answer(post("Content-Encoding: identity")))[0] == 200


async def test_a_connection_whose_request_is_refused_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its body was not read whole: what comes next on the connection may be the rest of it, and no request."""
    monkeypatch.setattr(middleware, "MOST_BYTES", 1000)
    async with served() as server:
        for request, refusal in ((post(host="evil.example"), 403), (post(body=b"x" * 2000), 413)):
            status, text = await server.answer(request.replace(b"Connection: close\r\n", b""))
            assert (status, "connection: close" in text.lower()) == (refusal, True)


async def test_keys(tmp_path: Path) -> None:
    """With keys every path but the open ones needs one; they are nowhere in a log or an answer."""
    keys = (ApiKey("ours", sha256(KEY.encode()).digest()), ApiKey("theirs", sha256(b"x" * 16).digest()))
    with logged(tmp_path / "log"):
        logging.getLogger("uvicorn.error").setLevel(logging.DEBUG)
        async with served("0.0.0.0", keys) as server:
            for header in (
                *(f"Authorization: Bearer {KEY}", f"authorization: bearer  {KEY}", f"x-api-key: {KEY}"),
                *(f"Authorization: Bearer none\r\nx-api-key: {KEY}", f"Authorization: Bearer {KEY}\r\nx-api-key: none"),
            ):
                status, text = await server.answer(post(header, host="any.example"))
                assert (status, text.endswith("ours:2")) == (200, True)
            for header in (
                "Authorization: Bearer",
                f"Authorization: Basic {KEY}",
                f"x-api-key: {KEY}z",
                "x-api-key: é",
            ):
                status, text = await server.answer(post(header))
                assert (status, "www-authenticate: bearer" in text.lower(), KEY in text) == (401, True, False)
            assert (await server.answer(post(path="/nothing")))[0] == 401
            assert (await server.answer(post(path="/health").replace(b"POST", b"GET", 1)))[0] == 200
            assert (await server.answer(post(f"x-api-key: {KEY}", path=f"/v1/{KEY}")))[0] == 404
        logging.getLogger("uvicorn.error").setLevel(logging.NOTSET)
    log = tmp_path / "log"
    assert not log.exists() or KEY not in log.read_text()


async def test_a_key_protects_whatever_name_the_server_is_asked_by() -> None:
    """A proxy on this machine passes the name on that the client knows it by."""
    async with served("127.0.0.1", (ApiKey("ours", sha256(KEY.encode()).digest()),)) as server:
        for header, status in ((f"x-api-key: {KEY}", 200), ("x-api-key: none", 401)):
            assert (await server.answer(post(header, host="llm.example")))[0] == status


async def test_large_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body over the limit is refused by its length, or when it gets there, and a client that sends it all is told."""
    monkeypatch.setattr(middleware, "MOST_BYTES", 1_000_000)
    monkeypatch.setattr(middleware, "LINGER_S", 10.0)
    async with served() as server:
        assert (await server.answer(post(body=b"x" * 1_000_000)))[0] == 200
        assert (await server.answer(post(body=b"x" * 100_000_000)))[0] == 413
        assert (await server.answer(post("Content-Length: 100000000", "Expect: 100-continue", body=b"")))[0] == 413
        monkeypatch.setattr(middleware, "LINGER_S", 0.1)
        assert (await server.answer(post("Content-Length: 100000000", body=b"x" * 1000)))[0] == 413
        monkeypatch.setattr(middleware, "LINGER_S", 10.0)
        chunks = b"".join(b"186a0\r\n" + b"x" * 100_000 + b"\r\n" for _ in range(20))
        assert (await server.answer(post("Transfer-Encoding: chunked", body=chunks + b"0\r\n\r\n")))[0] == 413
        assert (await server.answer(post(body=b"x")))[0] == 200


async def test_requests_that_are_two_to_somebody_else() -> None:
    """Header smuggling: h11 or the gate refuses each, or reads it in the one way that HTTP has for it."""
    inner = b"0\r\n\r\nPOST /v1/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
    async with served() as server:
        for request in (
            post("Content-Length: 5", "Transfer-Encoding: chunked", body=inner),
            post("Content-Length: 2", "Content-Length: 3"),
            post("Content-Length: +2"),
            post("Content-Length: 2, 3"),
            post("Transfer-Encoding: chunked, identity", body=inner),
            post("Transfer-Encoding:\x0bchunked", body=inner),
            post("Transfer-Encoding : chunked", body=inner),
            post("X: a\r\n Transfer-Encoding: chunked\r\nHost: evil.example"),
            post("Transfer-Encoding: chunked", body=b"2\rxx\r\n0\r\n\r\n"),
            post("Transfer-Encoding: chunked", body=b"-1\r\nxx\r\n0\r\n\r\n"),
            post().replace(b"HTTP/1.1", b"HTTP/1.1 x", 1),
            b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 200_000,
            b"\x16\x03\x01\x02\x00\x01\x00",
        ):
            status, text = await server.answer(request)
            assert status in (0, 400, 431, 501), request
            assert text.count("HTTP/1.1") <= 1, request


async def test_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request whose headers or body do not come ends, with an answer where one can be given."""
    monkeypatch.setattr(http_server, "HEADERS_S", 0.3)
    monkeypatch.setattr(middleware, "PATIENCE_S", 0.3)
    async with served() as server:
        for half, status in (
            (b"", 0),
            (b"POST /v1/echo HTT", 0),
            (b"POST /v1/echo HTTP/1.1\r\nHost: localhost\r\n", 0),
            (post("Content-Length: 100", body=b"half"), 408),
            (post("Transfer-Encoding: chunked", body=b"5\r\nhal"), 408),
        ):
            assert (await server.answer(half))[0] == status, half


@pytest.mark.parametrize("path", ["/v1/wait", "/v1/stream"])
async def test_a_client_that_hangs_up(path: str, tmp_path: Path) -> None:
    """The work on its request is cancelled, before its answer has begun and in the middle of it: no error to log."""
    with logged(tmp_path / "log"):
        async with served() as server:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(post(path=path))
            await server.begun.wait()
            assert not server.ended.is_set()
            writer.transport.abort()
            await server.ended.wait()
    assert not (tmp_path / "log").exists()


async def test_a_body_that_keeps_coming_has_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second for so many bytes; here that is all there is."""
    monkeypatch.setattr(middleware, "PATIENCE_S", -1.0)
    monkeypatch.setattr(middleware, "LEAST_BYTES_PER_S", 1)
    pieces = [(b"x" * 1000, True), (b"y", False)]

    async def receive() -> Message:
        if len(pieces) == 1:
            await asyncio.sleep(0)
        body, more = pieces.pop(0)
        return {"type": "http.request", "body": body, "more_body": more}

    async def send(message: Message) -> None: ...

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert len(await Request(scope, receive).body()) == 1001

    await middleware.BodyLimit(app)({"type": "http", "headers": []}, receive, send)


async def test_a_reader_that_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is piled up for it, and it is hung up on in the end."""
    monkeypatch.setattr(http_server, "STALLED_S", 0.3)
    async with served() as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1000)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(post(path="/v1/stream"))
        await server.ended.wait()
        assert server.sent_n < 200  # of 100 kB; what the system's own buffers take
        writer.transport.abort()


async def test_silent_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there may be stay; of more the oldest are closed, and whoever asks is answered."""
    monkeypatch.setattr(http_server, "HEADERS_S", PATIENCE_S)
    async with served(connections=5) as server:
        silent = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(40)]
        halves = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(3)]
        for _, writer in halves:
            writer.write(b"POST /v1/echo HTTP/1.1\r\nHost: loc")
        assert (await server.answer(post()))[0] == 200
        for reader, _ in silent[:-1]:
            assert await reader.read() == b""
        assert not silent[-1][0].at_eof()
        for _, writer in halves:
            writer.write(post().removeprefix(b"POST /v1/echo HTTP/1.1\r\nHost: loc"))
        assert [(await reader.read())[:15] for reader, _ in halves] == [b"HTTP/1.1 200 OK"] * 3
        for _, writer in silent + halves:
            writer.close()


async def test_too_many_requests_under_way() -> None:
    """Each API's own shape tells of it, and so do the metrics; when one has ended, another is answered."""
    async with served(connections=3) as server:
        slow = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(3)]
        for (_, writer), path in zip(slow, ("/v1/wait", "/v1/echo", "/v1/echo"), strict=True):
            writer.write(post("Content-Length: 3", body=b"", path=path))
        slow[0][1].write(b"{ }")
        await server.begun.wait()
        for path, said in (("/v1/echo", "server_busy"), ("/v1/messages", "overloaded_error"), ("/api/chat", "error")):
            status, text = await server.answer(post(path=path))
            assert (status, said in text, "retry-after: 1" in text) == (503, True, True)
        assert server.refused == ["connections"] * 3
        slow[0][1].transport.abort()
        await server.ended.wait()
        assert (await server.answer(post()))[0] == 200
        for reader, writer in slow[1:]:
            writer.write(b"{ }")
            assert (await reader.read()).endswith(b":3")
            writer.close()


@pytest.mark.parametrize("writable", [True, False])
def test_the_log_is_its_owners_alone_and_not_needed(tmp_path: Path, writable: bool) -> None:
    """Tracebacks may quote what clients sent. Where it cannot be written, requests are answered all the same."""
    log = tmp_path / "logs" / "serve.log"
    if not writable:
        log.parent.touch()
    with logged(log):
        logging.getLogger("localspec.server").error("It fell over.")
    assert not writable or stat.S_IMODE(log.stat().st_mode) == 0o600


def test_connections_have_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for all that may wait, unless the system allows fewer files; this process's own limit is raised."""
    resource = pytest.importorskip("resource")
    allowed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: allowed.append(limits))
    for soft, hard, connections in ((1024, 4096, 384), (256, 4096, 384), (256, 300, 236)):
        monkeypatch.setattr(resource, "getrlimit", lambda kind, limits=(soft, hard): limits)
        assert connections_for(64) == connections
    assert allowed == [(448, 4096), (300, 300)]
