"""The metrics page on a port of this machine, or in a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from localspec import __version__
from localspec.base.errors import LocalSpecError, OutputError, UsageError, explaining
from localspec.base.listening import LOOPBACK_NAMES, without_port
from localspec.base.shared_file import is_stream, write_whole
from localspec.insight.metrics.registry import CONTENT_TYPE

LOOPBACK = "127.0.0.1"
PATH = "/metrics"
_STALLED_S = 5.0
"""The timeout for a silent client."""


class MetricsServer:
    """Serves ``page()`` at /metrics on the loopback address, in threads of its own, until ``close``.

    ``page`` is called in those threads; a LocalSpecError becomes status 503 with its text.
    """

    def __init__(self, page: Callable[[], str], port: int) -> None:
        """Begin to serve; port 0 takes a free one, see ``port``. Raises UsageError if the port cannot be used."""
        try:
            self._server = ThreadingHTTPServer((LOOPBACK, port), _handler(page))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(
                f"Metrics cannot be served on port {port} ({reason}).", "Choose another port; 0 takes a free one."
            ) from None
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}{PATH}"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(page: Callable[[], str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version = f"localspec/{__version__}"
        sys_version = ""
        timeout = _STALLED_S

        def do_GET(self) -> None:
            if without_port(self.headers.get("Host", "")) not in LOOPBACK_NAMES:
                text = "Metrics are not known under that host name. Use localhost.\n"
                self._answer(HTTPStatus.FORBIDDEN, "text/plain; charset=utf-8", text)
                return
            if self.path.partition("?")[0] != PATH:
                self._answer(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", f"Metrics are at {PATH}.\n")
                return
            try:
                text = page()
            except LocalSpecError as error:
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain; charset=utf-8", f"{error}\n")
                return
            self._answer(HTTPStatus.OK, CONTENT_TYPE, text)

        def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
            body = text.encode()
            with suppress(OSError):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as inherited)
            """Write no line to the terminal for each scrape."""

    return Handler


def write_page(path: Path, text: str) -> None:
    """Replace the file in one step, as node_exporter's textfile collector requires; a device or a pipe is written to.

    Raises OutputError.
    """
    with explaining(OutputError, f"Metrics cannot be written to {path}", "choose another file"):
        if is_stream(path):
            # A pipe that nobody reads is not waited for.
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
            os.set_blocking(handle, True)
            with os.fdopen(handle, "a", encoding="utf-8") as stream:
                stream.write(text)
        else:
            write_whole(path, text)
