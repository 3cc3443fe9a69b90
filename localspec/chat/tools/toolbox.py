"""The tools that are at hand: those of our own that are switched on, and those of MCP servers, started when needed.

Servers and calls live in one thread with an event loop of its own, which begins with the first of them.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from localspec.base.errors import LocalSpecError
from localspec.base.visible import is_text
from localspec.chat.tools.offered import OfferedTool, Resource, ServerPrompt, named
from localspec.chat.tools.own import OWN_TOOLS
from localspec.chat.tools.servers import ServerConnection
from localspec.config.servers import McpServer
from localspec.runtime.chat_config import ToolChoice
from localspec.runtime.messages import Tool, ToolCall
from localspec.runtime.template.values import json_object

MOST_RESULT = 40_000
"""The most characters of a result; the rest is cut off, and the model is told."""
LATE_S = 3.0
"""Seconds of waiting for servers after which ``late`` is told."""
_CLOSING_S = 10.0

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class CallResult:
    text: str
    failed: bool = False


class Toolbox:
    """The tools of one program. ``close`` ends the servers."""

    def __init__(self) -> None:
        self.offered: tuple[OfferedTool, ...] = ()
        """The tools of the servers that were reached last, and our own."""
        self.late: Callable[[str], object] = lambda _: None
        """Told in a sentence which servers are waited for, if that takes long."""
        self._choice = ToolChoice()
        self._servers: Mapping[str, McpServer] = {}
        self._connections: dict[str, ServerConnection] = {}
        self._reached: dict[str, str] = {}
        """The servers that answered or failed since ``prepare``, each with a sentence if it failed, else empty."""
        self._lost: tuple[str, ...] = ()
        """Sentences about names that nothing has."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._preparing: Future[None] | None = None
        self._done: object = None
        """The choice for which servers were reached; None if one of them was ended meanwhile."""
        self._reaching: asyncio.Task[Any] | None = None
        """The same, as a task of the loop."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools as the model is told of them."""
        return tuple(each.tool for each in self.offered)

    @property
    def ready(self) -> bool:
        """True if no server is being reached."""
        return self._preparing is None or self._preparing.done()

    @property
    def awaited(self) -> tuple[str, ...]:
        """The servers that are being reached and have neither answered nor failed yet."""
        return () if self.ready else tuple(name for name in self.wanted_servers if name not in self._reached)

    @property
    def troubles(self) -> tuple[str, ...]:
        """Sentences about servers that could not be reached, and names that nothing has."""
        return (*(said for name in self.wanted_servers if (said := self._reached.get(name))), *self._lost)

    @property
    def known(self) -> tuple[OfferedTool, ...]:
        """All tools of the servers that run, chosen or not, under their own names."""
        return tuple(
            OfferedTool(tool, name, connection.server.place, tool.name)
            for name, connection in list(self._connections.items())
            if connection.client is not None
            for tool in connection.tools
        )

    def runs(self, server: str) -> bool:
        """True if a server was reached, and has not ended."""
        connection = self._connections.get(server)
        return connection is not None and connection.client is not None

    def left_out_n(self, server: str) -> int:
        """The number of a server's tools that are not among those known, see ``ServerConnection``."""
        connection = self._connections.get(server)
        return connection.left_out_n if connection is not None else 0

    @property
    def resources(self) -> tuple[Resource, ...]:
        return tuple(each for connection in list(self._connections.values()) for each in connection.resources)

    @property
    def prompts(self) -> tuple[ServerPrompt, ...]:
        return tuple(each for connection in list(self._connections.values()) for each in connection.prompts)

    def read(self, resource: Resource) -> Future[str]:
        """Begin to read a resource. The result raises ServerTrouble."""
        return self._submit(self._connections[resource.server].read(resource))

    def write(self, prompt: ServerPrompt, values: Mapping[str, str]) -> Future[str]:
        """Begin to have a prompt written, with these values for its fields. The result raises ServerTrouble."""
        return self._submit(self._connections[prompt.server].prompt(prompt, values))

    def find(self, name: str) -> OfferedTool | None:
        """The tool that the model calls by this name."""
        return next((each for each in self.offered if each.tool.name == name), None)

    def choose(self, choice: ToolChoice, servers: Mapping[str, McpServer]) -> None:
        """Offer these tools from the next ``prepare`` on; ``servers`` are those of the file, by name."""
        self._choice, self._servers = choice, servers
        if not self.wanted_servers:
            self._offer()

    @property
    def wanted_tools(self) -> tuple[str, ...]:
        """The tools that were chosen by name."""
        return self._choice.tool

    @property
    def wanted_servers(self) -> tuple[str, ...]:
        """The servers that the chosen tools come from."""
        of_tools = (name.partition(".")[0] for name in self._choice.tool if "." in name)
        return tuple(dict.fromkeys((*self._whole, *of_tools)))

    @property
    def _whole(self) -> tuple[str, ...]:
        """The servers all of whose tools are chosen."""
        named = (name for name in self._choice.tool if name in self._servers and name not in OWN_TOOLS)
        return (*self._choice.mcp, *named)

    def prepare(self) -> None:
        """Begin to start the servers that are needed and do not run, and to list their tools; see ``ready``.

        Those that are being started and needed no more are ended, so that nobody waits for them.
        """
        if not self.ready:
            self._submit(self._close_others())
        elif self.wanted_servers or self._connections:
            self._preparing = self._submit(self._prepare())

    def wait(self, *, patiently: bool = True) -> None:
        """Wait until the servers are ready, or else for ``LATE_S`` at most. KeyboardInterrupt leaves them be."""
        if self._preparing is None:
            return
        with suppress(LocalSpecError, CancelledError):
            try:
                self._preparing.result(LATE_S)
            except TimeoutError:
                if not patiently:
                    return
                if late := ", ".join(self.awaited):
                    longest = f"{self._choice.call_timeout:g} s"
                    self.late(f"Waiting for the MCP server {late} to start, for at most {longest}.")
                self._preparing.result()

    def call(self, tool: OfferedTool, call: ToolCall) -> Future[CallResult]:
        """Begin a call, once. The result never raises; cancelling the future ends the waiting."""
        return self._submit(self._call(tool, call))

    def close(self) -> None:
        """End all servers, and the thread."""
        loop, self._loop = self._loop, None
        if loop is None or self._thread is None:
            return
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._close_all(), loop).result(_CLOSING_S)
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join(_CLOSING_S)

    # In the thread

    async def _prepare(self) -> None:
        self._reaching = asyncio.current_task()
        self._done = None
        while self._done != (chosen := (self.wanted_servers, self._servers)):  # others may be chosen meanwhile
            self._reached = {}
            await self._close_others()
            self._done = chosen
            await asyncio.gather(*map(self._reach, self.wanted_servers))
            self._offer()

    async def _close_others(self) -> None:
        """End the servers that are not wanted, or not as they are described now."""
        wanted = {name: self._servers.get(name) for name in self.wanted_servers}
        others = [name for name, connection in self._connections.items() if connection.server != wanted.get(name)]
        if others:
            self._done = None
        await asyncio.gather(*(self._connections.pop(name).close() for name in others))

    async def _reach(self, name: str) -> None:
        """Reach a server, and note its trouble."""
        self._reached[name] = await self._trouble_of(name)

    async def _trouble_of(self, name: str) -> str:
        """Reach a server; a sentence if that fails, else empty."""
        server = self._servers.get(name)
        if server is None:
            return f"There is no MCP server {name} in the settings; `localspec mcp add` adds one."
        connection = self._connections.setdefault(name, ServerConnection(server, self._choice.call_timeout))
        connection.timeout_s = self._choice.call_timeout
        try:
            await connection.prepare()
        except LocalSpecError as error:
            return str(error)
        return ""

    def _offer(self) -> None:
        whole = self._whole
        chosen = [OWN_TOOLS[name].offered for name in dict.fromkeys(self._choice.tool) if name in OWN_TOOLS]
        chosen += [each for each in self.known if each.server in whole or each.full_name in self._choice.tool]
        lost = []
        for wanted in self._choice.tool:
            known = wanted in OWN_TOOLS or wanted in whole or any(each.full_name == wanted for each in chosen)
            if not known and ("." not in wanted or self.runs(wanted.partition(".")[0])):
                lost.append(f"There is no tool {wanted}; `localspec mcp list` and /tools list those there are.")
        self.offered, self._lost = tuple(named(chosen)), tuple(lost)

    async def _call(self, tool: OfferedTool, call: ToolCall) -> CallResult:
        arguments, connection = json_object(call.arguments or "{}"), self._connections.get(tool.server)
        if arguments is None or not is_text(json.dumps(arguments, ensure_ascii=False)):
            return CallResult("The arguments of a call are a JSON object.", failed=True)
        if tool.server and connection is None:
            return CallResult(f"The server {tool.server} does not run any more.", failed=True)
        try:
            if connection is not None:
                text, failed = await connection.call(tool.own_name, arguments)
            else:
                own, folder = OWN_TOOLS[tool.tool.name], self._choice.tool_folder
                text, failed = await asyncio.to_thread(own.call, arguments, folder), False
        except LocalSpecError as error:
            return CallResult(str(error), failed=True)
        return CallResult(_cut(text), failed)

    async def _close_all(self) -> None:
        if self._reaching is not None and not self._reaching.done():
            self._reaching.cancel()
            await asyncio.wait({self._reaching})
        connections = list(self._connections.values())
        self._connections.clear()
        await asyncio.gather(*(each.close() for each in connections), return_exceptions=True)

    def _submit(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_run, args=(self._loop,), name="tools", daemon=True)
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped, without the traces of servers that broke off."""
    loop.set_exception_handler(lambda _loop, _context: None)
    loop.run_forever()
    with suppress(RuntimeError):
        loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def _cut(text: str) -> str:
    if len(text) <= MOST_RESULT:
        return text
    return f"{text[:MOST_RESULT]}\n[{len(text) - MOST_RESULT} more characters were cut off]"
