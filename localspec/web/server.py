"""The chat in a browser: one app process a tab, at an address that only its reader knows.

A page of any other site can open a WebSocket to this machine, and whoever has the chat can attach files; hence
a secret in the address, and no answer to a handshake that comes from another site.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from importlib.resources import files
from ipaddress import ip_address
from string import Template
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from localspec.base.errors import UsageError

_SECRET_BYTES = 18
_GRACE_S = 5.0
"""How long a new tab waits for an old one that is just ending, as when a page is loaded again."""
_END_S = 30.0
"""How long apps may take to end when the server does."""
_HEADERS = {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
_FONT_SIZE = 16
_NO_SUCH_HOST = "Name or service not known"
TOO_MANY = "LocalSpec is open in as many tabs as it may be; each has models of its own in memory. Close one, or start "
TOO_MANY += "it with --tabs and a larger number."


class ChatServer(Server):
    """Runs ``command`` anew for each tab, as a Textual app whose screen is the page."""

    def __init__(self, command: str, host: str, port: int, *, tabs: int, told: Callable[[str], object]) -> None:
        """Takes the port, any free one for 0. Raises UsageError if it cannot be had.

        ``told`` is called with the address once the page can be opened.
        """
        self._socket = _bound(host, port)
        super().__init__(command, host=host, port=int(self._socket.getsockname()[1]), title="LocalSpec")
        self._secret = secrets.token_urlsafe(_SECRET_BYTES)
        self._tabs = asyncio.Semaphore(tabs)
        self._told = told
        self._open: dict[asyncio.Task[object], web.WebSocketResponse | None] = {}

    @property
    def url(self) -> str:
        """Where the chat is."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/{self._secret}/"

    def serve(self, debug: bool = False) -> None:
        """Until an interrupt."""
        web.run_app(self.make_app(), sock=self._socket, print=None, access_log=None, shutdown_timeout=_END_S)

    async def make_app(self) -> web.Application:
        """All there is, below the secret; anything else is not found."""
        app = web.Application()
        app.add_subapp(f"/{self._secret}", await self._make_app())
        app.on_startup.append(self._tell)
        app.on_shutdown.append(self._close_tabs)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Says nothing of its own."""

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """The page, or why there is none."""
        if not await self._takes_place():
            return web.Response(text=TOO_MANY, status=503, headers=_HEADERS)
        self._tabs.release()
        page = Template(files("localspec.web").joinpath("page.html").read_text(encoding="utf-8"))
        text = page.substitute(
            static=f"/{self._secret}/static",
            websocket=f"/{self._secret}/ws",
            font_size=to_int(request.query.get("fontsize", ""), _FONT_SIZE),
        )
        return web.Response(text=text, content_type="text/html", headers=_HEADERS)

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """The life of a tab."""
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.host:
            raise web.HTTPForbidden(text="This address is for its own page alone.")
        if not await self._takes_place():
            raise web.HTTPServiceUnavailable(text=TOO_MANY)
        # A page that goes may have its request cancelled; the app still gets the time to end in good order.
        return await asyncio.shield(asyncio.create_task(self._live(request)))

    async def _live(self, request: web.Request) -> web.WebSocketResponse:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = None
        try:
            return await super().handle_websocket(request)
        finally:
            del self._open[task]
            self._tabs.release()

    async def _process_messages(self, websocket: web.WebSocketResponse, app_service: AppService) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = websocket
        farewell = asyncio.create_task(_close_after(app_service, websocket))
        try:
            await super()._process_messages(websocket, app_service)
        finally:
            farewell.cancel()

    async def _takes_place(self) -> bool:
        """Whether one more tab may be open, after a moment if need be; then a place is taken."""
        try:
            return await asyncio.wait_for(self._tabs.acquire(), _GRACE_S)
        except TimeoutError:
            return False

    async def _tell(self, app: web.Application) -> None:
        self._told(self.url)

    async def _close_tabs(self, app: web.Application) -> None:
        """End the apps of all tabs in good order."""
        tabs = dict(self._open)
        for websocket in tabs.values():
            if websocket is not None:
                await websocket.close()
        if tabs:
            await asyncio.wait(tabs, timeout=_END_S)


async def _close_after(app_service: AppService, websocket: web.WebSocketResponse) -> None:
    """Let the page know of an app that ended without a word, as one does that was killed."""
    task = app_service._task
    if task is not None:
        await asyncio.wait((task,))
    await websocket.close()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server there."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bound(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(address)
            bound.listen()
        except OSError:
            bound.close()
            raise
    except (socket.gaierror, UnicodeError) as error:
        # A name with an empty or endless part is one that cannot even be asked for.
        reason = getattr(error, "strerror", None) or _NO_SUCH_HOST
        raise UsageError(
            f"The chat cannot be served on {host}, port {port} ({reason}).",
            "Choose another --host; left out, it is an address that only this machine has.",
        ) from None
    except OSError as error:
        raise UsageError(
            f"The chat cannot be served on {host}, port {port} ({error.strerror or error}).",
            "Choose another --port; 0 takes a free one.",
        ) from None
    return bound
