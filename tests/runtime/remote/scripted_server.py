"""A server on loopback whose answers are given byte for byte, so that it can be as wrong as any."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class ScriptedServer:
    """Gives the next answer for each request to a path, the last again and again; unknown paths are not found.

    An answer without its last bytes, as one that a dying server gave, has ``Content-Length`` too large.
    """

    answers: Mapping[str, list[bytes]]
    heard: list[tuple[str, Mapping[str, str], Any]] = field(default_factory=list)
    """Path, headers and JSON of every request."""
    url: str = ""
    tls: ssl.SSLContext | None = None
    hanging: threading.Event = field(default_factory=threading.Event)
    """Set to end the answers that hang."""

    def serve(self, listening: socket.socket) -> None:
        """Answer one request a connection until the socket is closed."""
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=self._greet, args=(connection,), daemon=True).start()

    def _greet(self, connection: socket.socket) -> None:
        if self.tls is None:
            self._answer(connection)
            return
        with suppress(OSError):  # a client that does not trust the certificate
            self._answer(self.tls.wrap_socket(connection, server_side=True))

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reader:
            path = reader.readline().split(b" ")[1].decode()
            headers = {}
            while line := reader.readline().strip():
                name, _, value = line.partition(b": ")
                headers[name.decode().lower()] = value.decode()
            body = reader.read(int(headers.get("content-length", 0)))
            self.heard.append((path, headers, json.loads(body) if body else None))
            waiting = self.answers.get(path, [answer(b"{}", "404 Not Found")])
            given = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            told, hangs, _ = given.partition(HANGS)
            connection.sendall(told)
            if hangs:
                self.hanging.wait(30)


HANGS = b"<hangs>"
"""Stands in an answer for the place where the server falls silent."""


@contextmanager
def scripted(answers: Mapping[str, list[bytes]], tls: ssl.SSLContext | None = None) -> Iterator[ScriptedServer]:
    """A server with these answers, by https if it has a certificate."""
    server = ScriptedServer(answers, tls=tls)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{listening.getsockname()[1]}"
        threading.Thread(target=server.serve, args=(listening,), daemon=True).start()
        try:
            yield server
        finally:
            server.hanging.set()
            listening.shutdown(socket.SHUT_RDWR)


def answer(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer; the connection ends with it."""
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status}\r\nConnection: close\r\n{more}\r\n".encode() + body


def models(*listed: Mapping[str, Any]) -> bytes:
    """A list of models."""
    return answer(json.dumps({"object": "list", "data": listed}).encode())


def stream(*chunks: object, end: bytes = b"data: [DONE]\n\n") -> bytes:
    """Chunks as server-sent events."""
    return answer(b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + end)


def delta(reason: str | None = None, **fields: object) -> dict[str, Any]:
    """A chunk with these fields in its delta."""
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": reason}]}
