"""The Hub and its storage on 127.0.0.1, in threads of this process.

The Hub is ``http://127.0.0.1:PORT``, the storage the same server under the name ``localhost``: another
origin, as far as any client can tell.
"""

from __future__ import annotations

import hashlib
import json
import re
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from tests.hub.faults import (
    Answer,
    Cut,
    Elsewhere,
    Fault,
    HubFault,
    IgnoreRange,
    OtherContent,
    OtherRange,
    Page,
    Refuse,
    Stall,
    WrongBytes,
)

COMMIT = "0123456789abcdef0123456789abcdef01234567"
_BLOCK = 2**16


@dataclass
class Content:
    """Bytes that need not all exist: ``head`` and then zeros up to ``size_bytes``."""

    head: bytes
    size_bytes: int
    sha256: str

    def read(self, start: int, stop: int) -> bytes:
        held = self.head[start:stop]
        return held + bytes(min(stop, self.size_bytes) - start - len(held))


@dataclass
class Repo:
    """A repository: files by name, and who may see them."""

    files: dict[str, Content] = field(default_factory=dict)
    commit: str = COMMIT
    gated: bool = False
    private: bool = False
    token: str | None = None
    """The token that opens a gated or private repository."""
    moved_to: str | None = None
    about: dict[str, Any] = field(default_factory=dict)
    """Further fields of the API: downloads, tags, gguf and the like."""
    plain: bool = False
    """True if the Hub itself serves the files, as it does small ones."""
    earlier: dict[str, Repo] = field(default_factory=dict)
    """The repository at other commits."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no error."""


class HubServer:
    """Use it as a context. ``faults`` are taken one for each request for bytes; ``requests`` can be looked at."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.scheme = "http" if tls is None else "https"
        self.repos: dict[str, Repo] = {}
        self.faults: list[Fault] = []
        self.api_faults: list[HubFault | None] = []
        """Taken one for each request to the Hub itself; None lets it pass."""
        self.api_body: bytes | None = None
        """The answer of the API about every repository in place of the true one."""
        self.resolved: dict[str, str] = {}
        """Headers in place of the true ones where a file is asked for."""
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.sent_bytes = 0
        """Of file content, over all requests."""
        self.sent_ahead_bytes = 0
        """Of them, those for requests that say where they end, as for headers."""
        self.etag_suffix = ""
        self.page_n = 100
        """The most results of a search in one answer."""
        self.next_at = ""
        """The server that the address of the next page names; empty for this one."""
        self.portal = False
        """True if a network in between answers everything with a page to sign in."""
        self.on_bytes: Callable[[int], None] | None = None
        """Called with ``sent_bytes`` while a body is sent."""
        self.lock = threading.Lock()
        hub = self

        class Handler(_Handler):
            server_hub = hub

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def endpoint(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> HubServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add(self, repo: str, file: str, data: bytes, *, size_bytes: int | None = None, **about: Any) -> Content:
        """Put a file into a repository; with ``size_bytes`` it goes on with zeros that nobody is meant to fetch."""
        sha256 = hashlib.sha256(data if size_bytes is None else b"sparse" + data).hexdigest()
        content = Content(data, len(data) if size_bytes is None else size_bytes, sha256)
        self.repos.setdefault(repo, Repo(**about)).files[file] = content
        return content

    def byte_requests(self) -> list[dict[str, str]]:
        """The headers of every request to the storage."""
        return [headers for method, path, headers in self.requests if method == "GET" and path.startswith("/cdn/")]

    def take_fault(self) -> Fault | None:
        with self.lock:
            return self.faults.pop(0) if self.faults else None


class _Handler(BaseHTTPRequestHandler):
    server_hub: HubServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or every answer waits 40 ms for its headers to be acknowledged

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the base class names it so
        pass

    def do_HEAD(self) -> None:
        self._route()

    def do_GET(self) -> None:
        self._route()

    def _route(self) -> None:
        hub = self.server_hub
        path = unquote(urlsplit(self.path).path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        with hub.lock:
            hub.requests.append((self.command, path, headers))
        try:
            if hub.portal:
                self._page()
            elif path.startswith("/cdn/"):
                self._storage(path)
            elif (found := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", path)) is not None:
                self._model(found[1], found[2])
            elif path == "/api/models":
                self._search(parse_qs(urlsplit(self.path).query))
            elif (found := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)) is not None:
                self._resolve(found[1], found[2], found[3])
            else:
                self._answer(404, {})
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True  # the client has left

    def _repo(self, name: str, revision: str | None) -> Repo | None:
        """The repository, if whoever asks may see it; else the answer has been sent."""
        hub = self.server_hub
        with hub.lock:
            fault = hub.api_faults.pop(0) if hub.api_faults else None
        if fault is not None:
            self._fail(fault)
            return None
        repo = hub.repos.get(name)
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if token == "bad":
            self._answer(401, {"X-Error-Message": "Invalid credentials in Authorization header"})
            return None
        if repo is None or (repo.private and token != repo.token):
            self._answer(401, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})
            return None
        if repo.moved_to is not None:
            self._answer(307, {"Location": self.path.replace(name, repo.moved_to)})
            return None
        if revision in repo.earlier:
            return repo.earlier[revision]
        if revision not in (None, "main", repo.commit):
            self._answer(404, {"X-Error-Code": "RevisionNotFound"})
            return None
        return repo

    def _fail(self, fault: HubFault) -> None:
        match fault:
            case Refuse():
                self._answer(fault.status, {"Retry-After": fault.retry_after} if fault.retry_after else {})
            case Page():
                self._page()
            case Answer():
                self._answer(200, {"Content-Type": "application/json"}, fault.body)
            case Stall():
                self.connection.settimeout(30)
                self.connection.recv(1)  # nothing comes, until the client hangs up
            case Elsewhere():
                self._answer(302, {"Location": fault.address})

    def _search(self, query: dict[str, list[str]]) -> None:
        """The repositories with GGUF files, filtered, sorted and cut into pages as the Hub does."""
        hub = self.server_hub
        with hub.lock:
            fault = hub.api_faults.pop(0) if hub.api_faults else None
        if fault is not None:
            self._fail(fault)
            return
        if self.headers.get("Authorization") == "Bearer bad":
            self._answer(401, {"X-Error-Message": "Invalid credentials in Authorization header"})
            return
        words = " ".join(query.get("search", [])).lower().split()
        tags = set(query.get("filter", [])) - {"gguf"}
        found = [
            {"id": name, "gated": "manual" if repo.gated else False} | repo.about
            for name, repo in hub.repos.items()
            if all(word in name.lower() for word in words)
            and tags <= set(repo.about.get("tags", ()))
            and name.startswith(query.get("author", [""])[0])
        ]
        key = query.get("sort", ["downloads"])[0]
        found.sort(key=lambda each: each.get(key) or type(each.get(key) or 0)(), reverse=True)
        start, limit = int(query.get("cursor", ["0"])[0]), min(int(query.get("limit", ["1000"])[0]), hub.page_n)
        headers = {"Content-Type": "application/json"}
        if start + limit < len(found):
            query = query | {"cursor": [str(start + limit)]}
            headers["Link"] = f'<{hub.next_at or hub.endpoint}/api/models?{urlencode(query, doseq=True)}>; rel="next"'
        said = hub.api_body or json.dumps(found[start : start + limit]).encode()
        self._answer(200, headers, said)

    def _model(self, name: str, revision: str | None) -> None:
        repo = self._repo(name, revision)
        if repo is None:
            return
        with_sizes = "blobs" in parse_qs(urlsplit(self.path).query)
        siblings = [
            {"rfilename": file} | ({"size": content.size_bytes} if with_sizes else {})
            for file, content in repo.files.items()
        ]
        body = {"id": name, "sha": repo.commit, "siblings": siblings, "gated": "manual" if repo.gated else False}
        body |= repo.about
        said = self.server_hub.api_body or json.dumps(body).encode()
        self._answer(200, {"Content-Type": "application/json"}, said)

    def _resolve(self, name: str, revision: str, file: str) -> None:
        repo = self._repo(name, revision)
        if repo is None:
            return
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if repo.gated and token != repo.token:
            self._answer(403 if token else 401, {"X-Error-Code": "GatedRepo", "X-Error-Message": "Gated"})
        elif file not in repo.files:
            self._answer(404, {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"})
        elif repo.plain:
            self._send(repo.files[file], {"X-Repo-Commit": repo.commit}, None, repo.files[file].sha256)
        else:
            content = repo.files[file]
            place = quote(f"/cdn/{name}/{file}")
            location = f"{self.server_hub.scheme}://localhost:{self.server_hub.port}{place}"
            linked = {"X-Linked-ETag": f'"{content.sha256}"', "X-Linked-Size": str(content.size_bytes)}
            told = {"Location": location, "X-Repo-Commit": repo.commit, **linked}
            self._answer(302, told | self.server_hub.resolved)

    def _storage(self, path: str) -> None:
        owner, repo, file = path.removeprefix("/cdn/").split("/", 2)
        fault = self.server_hub.take_fault() if self.command == "GET" else None
        if isinstance(fault, Refuse):
            self._answer(fault.status, {"Retry-After": fault.retry_after} if fault.retry_after else {})
            return
        if isinstance(fault, Page | Elsewhere):
            self._fail(fault)
            return
        if isinstance(fault, OtherContent):
            self.server_hub.etag_suffix += "x"
        content = self.server_hub.repos[f"{owner}/{repo}"].files[file]
        # A storage server's ETag is its own, not the checksum the Hub tells.
        self._send(content, {}, fault, content.sha256[:32] + self.server_hub.etag_suffix)

    def _send(self, content: Content, headers: dict[str, str], fault: Fault | None, etag: str) -> None:
        start, stop, status = 0, content.size_bytes, 200
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        same = self.headers.get("If-Range") in (None, f'"{etag}"')
        if asked is not None and same and not isinstance(fault, IgnoreRange):
            start, status = int(asked[1]), 206
            stop = min(int(asked[2]) + 1, stop) if asked[2] else stop
            if isinstance(fault, OtherRange):
                start += 7
            if start >= content.size_bytes:
                self._answer(416, {"Content-Range": f"bytes */{content.size_bytes}"})
                return
            headers = headers | {"Content-Range": f"bytes {start}-{stop - 1}/{content.size_bytes}"}
        self.send_response(status)
        for name, value in (headers | {"ETag": f'"{etag}"', "Accept-Ranges": "bytes"}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        if self.command == "GET":
            self._body(content, start, stop, fault)

    def _body(self, content: Content, start: int, stop: int, fault: Fault | None) -> None:
        hub = self.server_hub
        end = min(stop, start + fault.after_bytes) if isinstance(fault, Cut | Stall) else stop
        for at in range(start, end, _BLOCK):
            data = content.read(at, min(at + _BLOCK, end))
            if isinstance(fault, WrongBytes) and at <= start + fault.at < at + len(data):
                wrong = bytearray(data)
                wrong[start + fault.at - at] ^= 0xFF
                data = bytes(wrong)
            # Counted before it goes: who has received it may look at the count at once.
            with hub.lock:
                hub.sent_bytes += len(data)
                hub.sent_ahead_bytes += 0 if (self.headers.get("Range") or "-").endswith("-") else len(data)
            self.wfile.write(data)
            if hub.on_bytes is not None:
                hub.on_bytes(hub.sent_bytes)
        if end < stop and isinstance(fault, Stall):
            self.connection.settimeout(30)
            self.connection.recv(1)  # nothing comes, until the client hangs up
        if end < stop:
            self.close_connection = True

    def _page(self) -> None:
        self._answer(200, {"Content-Type": "text/html; charset=utf-8"}, b"<!doctype html>Welcome to the train")

    def _answer(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
