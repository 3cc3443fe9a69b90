"""HTTP under the app: the socket, limits of connections and of time, signals, and a stop that lets replies end."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

import uvicorn
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from localspec.base.signals import discard_terminal_output, ending_signals
from localspec.server.failures import failure_response
from localspec.server.service import BusyError

STOP_S = 10.0
"""The time that replies under way have to end when the server is to stop."""
HEADERS_S = 10.0
"""The time for a client to send the line and the headers of its first request."""
STALLED_S = 60.0
"""The time after which a client that takes nothing of its answer is hung up on."""
_CONNECTIONS = 256
"""Connections beside those of requests that wait: replies under way, questions, idle clients, pages of figures."""
_OTHER_FILES = 64
"""Files that the server may have open beside its connections."""
_LOG_BYTES = 4_000_000
_WHOLE_URL = re.compile(rb"https?://(?P<host>[^/]*)(?P<path>/.*)?", re.IGNORECASE)


class Stoppable(Protocol):
    """The service as the server stops it."""

    @property
    def busy(self) -> bool: ...

    def stop(self) -> None: ...

    def fail_all(self) -> None: ...

    def count_refused(self, reason: str) -> None: ...


class HttpServer(uvicorn.Server):
    """Serves an app on a socket until a signal comes.

    The first one has the service refuse what is new, with status 503, and lets replies end for ``STOP_S``; a second
    one ends them at once.
    """

    def __init__(
        self,
        app: ASGIApp,
        service: Stoppable,
        on_stop: Callable[[bool], object] = lambda busy: None,
        *,
        connections: int = _CONNECTIONS,
    ) -> None:
        """``on_stop`` is called when the server begins to stop, with True if replies are under way.

        With more than so many ``connections`` the one that has been idle for longest is closed; with so many requests
        under way, further ones get status 503.
        """
        config = uvicorn.Config(
            self._admit,
            interface="asgi3",
            http=_Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            limit_concurrency=connections,
            server_header=False,
            # A client could name another address than its own.
            proxy_headers=False,
            # What has not ended when its time is up is cancelled.
            timeout_graceful_shutdown=1,
        )
        super().__init__(config)
        self._app = app
        self._service = service
        self._connections = connections
        self._on_stop = on_stop
        self._stopping: asyncio.Task[None] | None = None

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it if there are too many."""
        scope = _in_origin_form(scope)
        if len(self.server_state.tasks) <= self._connections:
            await self._app(scope, receive, send)
            return
        self._service.count_refused("connections")
        refusal = BusyError("All connections of this server have requests under way.", "Try again later.")
        answer = failure_response(Request(scope), refusal)
        answer.headers["Connection"] = "close"
        await answer(scope, receive, send)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As in the base class, but that the signals do not end the process again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        former = {number: signal.getsignal(number) for number in (signal.SIGINT, *ending_signals())}
        for number in former:
            loop.add_signal_handler(number, self._hear, number)
        try:
            yield
        finally:
            for number, handler in former.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)

    def _hear(self, number: signal.Signals) -> None:
        if number == signal.SIGHUP:
            discard_terminal_output()
        self.stop()

    def stop(self) -> None:
        """Begin to stop; the second call ends all replies."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())
        else:
            self.should_exit = True
            for task in self.server_state.tasks:
                task.cancel()

    async def _stop(self) -> None:
        self._service.stop()
        self._on_stop(self._service.busy)
        loop = asyncio.get_running_loop()
        end = loop.time() + STOP_S
        while self._service.busy and loop.time() < end and not self.should_exit:
            await asyncio.sleep(0.05)
        self._service.fail_all()
        self.should_exit = True


def _in_origin_form(scope: Scope) -> Scope:
    """The request with a path alone as its target. Where that is a whole URL, its host counts, as RFC 9112 has it."""
    whole = _WHOLE_URL.fullmatch(scope["raw_path"])
    if whole is None:
        return scope
    path = whole["path"] or b"/"
    headers = [(b"host", whole["host"]), *(each for each in scope["headers"] if each[0] != b"host")]
    return {**scope, "path": unquote(path.decode("ascii")), "raw_path": path, "headers": headers}


class _Protocol(H11Protocol):
    """HTTP/1.1 with limits of time for headers, and for a client that reads nothing of its answer."""

    _impatience: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None
    _idle_since = 0.0

    def __init__(self, config: uvicorn.Config, *state: Any, **named_state: Any) -> None:
        super().__init__(config, *state, **named_state)
        # Uvicorn would count idle connections and answer in a shape that no API has.
        self._most, self.limit_concurrency = config.limit_concurrency or _CONNECTIONS, None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._idle_since = self.loop.time()
        self._close_idle()
        self._impatience = self.loop.call_later(HEADERS_S, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._impatience, self._stall):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall = self.loop.call_later(STALLED_S, self.transport.abort)

    def resume_writing(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
        super().resume_writing()

    def on_response_complete(self) -> None:
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._idle:
            # Uvicorn has stopped its own clock at the first byte of a further request.
            if self._impatience is None:
                self._impatience = self.loop.call_later(HEADERS_S, self._give_up)
        elif self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None

    @property
    def _idle(self) -> bool:
        """True if no request is under way."""
        return self.cycle is None or self.cycle.response_complete

    def _close_idle(self) -> None:
        """Close the connection that has been idle for longest, but not this one, if there are too many."""
        opened = [each for each in self.connections if isinstance(each, _Protocol) and not each.transport.is_closing()]
        idle = [each for each in opened if each is not self and each._idle]
        if idle and len(opened) > self._most:
            min(idle, key=lambda each: each._idle_since)._give_up()

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


def connections_for(waiting_n: int) -> int:
    """The most connections of a server where so many requests may wait, as far as this process may open files."""
    wanted = _CONNECTIONS + 2 * waiting_n
    files = wanted + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != soft < files:
        soft = files if hard == resource.RLIM_INFINITY else min(files, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, soft - _OTHER_FILES)
    return wanted


class _LogFile(RotatingFileHandler):
    """A log that is its owner's alone, and goes nowhere where its file cannot be written: the server answers anyway."""

    def _open(self) -> TextIOWrapper:
        stream = super()._open()
        os.fchmod(stream.fileno(), 0o600)
        return stream

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 -- the base class's name
        """Say nothing."""


@contextmanager
def logged(log_file: Path) -> Iterator[None]:
    """Have warnings and errors of the server written to a file. Requests, replies and keys are in none of them."""
    with suppress(OSError):
        log_file.parent.mkdir(parents=True, exist_ok=True)
    handler = _LogFile(log_file, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    loggers = [logging.getLogger(name) for name in ("uvicorn", "asyncio", "localspec.server")]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.WARNING)
        logger.propagate = False
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
            logger.propagate = True
        handler.close()
