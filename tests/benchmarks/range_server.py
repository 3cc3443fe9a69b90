"""A server that costs next to nothing: one file, sent by the kernel, in a process of its own."""

from __future__ import annotations

import hashlib
import multiprocessing
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random


@contextmanager
def serve(folder: Path, size_bytes: int) -> Iterator[str]:
    """The endpoint of a Hub that has one file of noise under every name."""
    file = folder / "file"
    digest = hashlib.sha256()
    block = Random(1).randbytes(2**20)
    with file.open("wb") as out:
        for _ in range(size_bytes // len(block)):
            out.write(block)
            digest.update(block)
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_run, args=(file, digest.hexdigest(), theirs), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()
        process.join()


def _run(file: Path, sha256: str, pipe: Connection) -> None:
    size = file.stat().st_size

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class names it so
            pass

        def do_HEAD(self) -> None:
            self.send_response(302)
            port = self.headers["Host"].rpartition(":")[2]
            self.send_header("Location", f"http://localhost:{port}/cdn/file.gguf")
            self.send_header("X-Repo-Commit", "c" * 40)
            self.send_header("X-Linked-ETag", f'"{sha256}"')
            self.send_header("X-Linked-Size", str(size))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            if not self.path.startswith("/cdn/"):
                self.send_error(404)  # the client asks for other things too
                return
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
            start = int(asked[1]) if asked else 0
            self.send_response(206 if asked else 200)
            if asked:
                self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
            self.send_header("Content-Length", str(size - start))
            self.end_headers()
            self.wfile.flush()
            with file.open("rb") as source:
                self.connection.sendfile(source, start)

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A client that left is no error."""

    server = Server(("127.0.0.1", 0), Handler)
    pipe.send(server.server_address[1])
    server.serve_forever()
