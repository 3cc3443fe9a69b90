"""A small proxy on loopback: passes requests on, tunnels, and remembers who was asked for what."""

from __future__ import annotations

import base64
import http.client
import select
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit


class Proxy:
    """Use it as a context."""

    def __init__(self, user: str = "") -> None:
        self.user = user
        """"name:password" that it wants; none if empty."""
        self.seen: list[str] = []
        """The method and host, or path, of every request."""
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    owner: Proxy

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class names it so
        pass

    def do_GET(self) -> None:
        self._pass_on()

    def do_HEAD(self) -> None:
        self._pass_on()

    def do_CONNECT(self) -> None:
        self.owner.seen.append(f"CONNECT {self.path}")
        if not self._is_welcome():
            return
        host, _, port = self.path.partition(":")
        with socket.create_connection((host, int(port))) as far:
            self.send_response(200)
            self.end_headers()
            _relay(self.connection, far)
        self.close_connection = True

    def _is_welcome(self) -> bool:
        wanted = f"Basic {base64.b64encode(self.owner.user.encode()).decode()}"
        if not self.owner.user or self.headers.get("Proxy-Authorization") == wanted:
            return True
        self.send_response(407)
        self.send_header("Proxy-Authenticate", "Basic")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False

    def _pass_on(self) -> None:
        parts = urlsplit(self.path)
        self.owner.seen.append(f"{self.command} {parts.path}")
        if not self._is_welcome():
            return
        far = http.client.HTTPConnection(parts.hostname or "", parts.port or 80)
        query = f"?{parts.query}" if parts.query else ""
        own = {name: value for name, value in self.headers.items() if not name.lower().startswith("proxy-")}
        far.request(self.command, parts.path + query, headers=own)
        answer = far.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            self.send_header(name, value)
        self.end_headers()
        while data := answer.read(2**16):
            self.wfile.write(data)
        far.close()


def _relay(near: socket.socket, far: socket.socket) -> None:
    others = {near: far, far: near}
    while True:
        readable, _, _ = select.select([near, far], [], [], 30)
        for side in readable:
            try:
                data = side.recv(2**16)
                others[side].sendall(data)
            except OSError:
                return
            if not data:
                return
