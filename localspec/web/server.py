"""The server of the chat in a browser: one app process for each tab, at a secret address.

A page of any site can open a WebSocket to this machine, and the chat can attach files. Hence the address contains a
secret, and handshakes from other sites are refused.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from importlib.resources import files
from string import Template

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from localspec.base.listening import listen, url_of

_SECRET_BYTES = 18
_GRACE_S = 5.0
"""The time that a new tab waits for an ending one, as when a page is reloaded."""
_END_S = 30.0
"""The time for apps to end when the server does."""
_HEADERS = {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
_FONT_SIZE = 16
TOO_MANY = "LocalSpec is already open in the largest number of tabs; each has its own models in memory. Close one, and "
TOO_MANY += "the chat opens here; or start it with a larger --tabs."
_TRY_AGAIN = {**_HEADERS, "Refresh": "2"}


class ChatServer(Server):
    """Runs ``command``, a Textual app, for each tab."""

    def __init__(self, command: str, host: str, port: int, *, tabs: int, on_ready: Callable[[str], object]) -> None:
        """Bind the port, any free one for 0. Raises UsageError if it cannot be bound.

        ``on_ready`` is called with the address once the page can be opened.
        """
        self._sockets = listen(host, port)
        super().__init__(command, host=host, port=int(self._sockets[0].getsockname()[1]), title="LocalSpec")
        self._secret = secrets.token_urlsafe(_SECRET_BYTES)
        self.url = f"{url_of(host, self._sockets)}/{self._secret}/"
        """The address of the chat."""
        self._tabs = asyncio.Semaphore(tabs)
        self._on_ready = on_ready
        self._open: dict[asyncio.Task[object], web.WebSocketResponse | None] = {}

    def serve(self, debug: bool = False) -> None:
        """Serve until an interrupt."""
        web.run_app(self.make_app(), sock=self._sockets, print=None, access_log=None, shutdown_timeout=_END_S)

    async def make_app(self) -> web.Application:
        """The application, with all paths below the secret."""
        app = web.Application()
        app.add_subapp(f"/{self._secret}", await self._make_app())
        app.on_startup.append(self._announce)
        app.on_shutdown.append(self._close_tabs)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Suppress the message of the base class."""

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """Serve the page, or while too many tabs are open status 503, which the browser asks again after."""
        if not await self._takes_place():
            return web.Response(text=TOO_MANY, status=503, headers=_TRY_AGAIN)
        self._tabs.release()
        page = Template(files("localspec.web").joinpath("page.html").read_text(encoding="utf-8"))
        text = page.substitute(
            static=f"/{self._secret}/static",
            websocket=f"/{self._secret}/ws",
            font_size=to_int(request.query.get("fontsize", ""), _FONT_SIZE),
        )
        return web.Response(text=text, content_type="text/html", headers=_HEADERS)

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Run an app for a tab until the tab is closed."""
        origin = request.headers.get("Origin")
        if origin is not None and origin.partition("://")[2] != request.host:
            raise web.HTTPForbidden(text="This address is for its own page alone.")
        if not await self._takes_place():
            raise web.HTTPServiceUnavailable(text=TOO_MANY)
        # Closing a page may cancel its request; the app still gets the time to end.
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
        closing = asyncio.create_task(_close_after(app_service, websocket))
        try:
            await super()._process_messages(websocket, app_service)
        finally:
            closing.cancel()

    async def _takes_place(self) -> bool:
        """Take a place for one more tab, after a short wait if needed; False if there is none."""
        try:
            return await asyncio.wait_for(self._tabs.acquire(), _GRACE_S)
        except TimeoutError:
            return False

    async def _announce(self, app: web.Application) -> None:
        self._on_ready(self.url)

    async def _close_tabs(self, app: web.Application) -> None:
        """End the apps of all tabs."""
        tabs = dict(self._open)
        for websocket in tabs.values():
            if websocket is not None:
                await websocket.close()
        if tabs:
            await asyncio.wait(tabs, timeout=_END_S)


async def _close_after(app_service: AppService, websocket: web.WebSocketResponse) -> None:
    """Close the connection after the app's process has ended, also if it was killed."""
    task = app_service._task
    if task is not None:
        await asyncio.wait((task,))
    await websocket.close()
