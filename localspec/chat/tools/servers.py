"""Connections to MCP servers, through the official SDK, which is imported when the first one is needed.

Each connection lives in one task of the loop that it is given: it starts the server, lists its tools, and waits to be
closed. A server that dies is started again for the next message; a call is never made twice. Requests of a server to
use the model (sampling) or to ask the user are refused: the SDK does so where no callback is given.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import shutil
import sys
import threading
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from localspec.base.errors import EngineError, LocalSpecError, UsageError
from localspec.base.extras import install_extra
from localspec.base.visible import visible_line
from localspec.chat.compose.cleaning import cleaned
from localspec.chat.images.reading import read_image
from localspec.chat.tools.offered import CALLABLE, Resource, ServerPrompt
from localspec.chat.tools.relay import MOST_LINE, relayed
from localspec.config.servers import McpServer
from localspec.runtime.images import image_block
from localspec.runtime.messages import Tool

if TYPE_CHECKING:
    import httpx2
    from anyio import CancelScope
    from mcp import Client, MCPError

MOST_TOOLS = 200
"""The most tools of one server that are listed."""
MOST_DESCRIPTION = 4_000
MOST_SCHEMA = 20_000
MOST_OTHERS = 200
"""The most resources, and the most prompts, of one server that are listed."""
MOST_IMAGES = 4
"""The most images of one result that the model is shown."""
_MOST_COMPLAINT = 2_000
_MOST_ABOUT = 200
_URI, _NAME = re.compile(r"[!-~]{1,400}"), re.compile(r"[\w.-]{1,64}")
_RELIST_S = 5.0
"""Seconds to list the tools again before a message; without an answer the server counts as hung."""
_CLOSING_S = 8
"""Seconds for a server to end; the SDK ends it by force after half of them."""
_LAST_WORDS_S = 1.0
"""Seconds for what a program wrote before it ended."""


Result = TypeVar("Result")

# The SDK writes a trace about every line of a server that is no message, and without a handler onto the screen.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class ServerTrouble(EngineError):
    """An MCP server that cannot be started, has died, hangs or answers with an error."""


class ServerConnection:
    """An MCP server while it is used. All methods are coroutines of one loop."""

    def __init__(self, server: McpServer, timeout_s: float) -> None:
        """``timeout_s`` is the longest wait for the start and for each call."""
        self.server = server
        self.tools: tuple[Tool, ...] = ()
        self.resources: tuple[Resource, ...] = ()
        self.prompts: tuple[ServerPrompt, ...] = ()
        self.left_out_n = 0
        """Tools that are not listed: too many, with too long a description, or with a name that no model can call."""
        self.client: Client | None = None
        """None before the start and after the end."""
        self.timeout_s = timeout_s
        self._complaints = _Complaints()
        self._refusal: int | None = None
        """The HTTP status of the latest answer, if that is an error; the SDK does not name it."""
        self._task: asyncio.Task[None] | None = None
        self._scope: CancelScope | None = None
        """Of the task. Cancelled it gives a start up and ends the program yet; a cancelled task could leave it."""
        self._closing = asyncio.Event()

    async def prepare(self) -> None:
        """Start the server if it does not run, or not any more, and list its tools. Raises ServerTrouble, UsageError.

        One that runs and gives no answer is ended.
        """
        if self.client is not None:
            try:
                async with asyncio.timeout(_RELIST_S):
                    await self._list(self.client)
                return
            except TimeoutError as error:
                await self.close()
                raise await self._trouble("no longer answers", error) from None
            except Exception:  # noqa: BLE001, S110 -- the SDK raises whatever its transports do
                pass
        await self.close()
        await self._start()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        """Call a tool. Returns its result as text, and True if the server says that it failed. Raises ServerTrouble."""
        result = await self._answer(f"run {name}", lambda client: client.call_tool(name, dict(arguments)))
        return await asyncio.to_thread(_text_of, result), bool(result.is_error)

    async def read(self, resource: Resource) -> str:
        """The text of a resource. Raises ServerTrouble."""
        result = await self._answer(f"read {resource.uri}", lambda client: client.read_resource(resource.uri))
        return "\n".join(part.text for part in result.contents if hasattr(part, "text"))

    async def prompt(self, prompt: ServerPrompt, values: Mapping[str, str]) -> str:
        """The text of a prompt with these values, without what steers a terminal. Raises ServerTrouble."""
        given = {name: value for name, value in values.items() if value}
        result = await self._answer(f"write {prompt.name}", lambda client: client.get_prompt(prompt.name, given))
        text, _ = cleaned("\n\n".join(_part(message.content) for message in result.messages))
        if not text.strip():
            raise ServerTrouble(
                f"The server {self.server.name} wrote nothing for {prompt.name}.", "Take another prompt."
            )
        return text

    async def _answer(self, what: str, ask: Callable[[Client], Awaitable[Result]]) -> Result:
        """The answer to one request, within the time for a call. Raises ServerTrouble."""
        if self.client is None:
            raise ServerTrouble(f"The server {self.server.name} does not run any more.")
        try:
            async with asyncio.timeout(self.timeout_s):
                return await ask(self.client)
        except TimeoutError:
            await self.close()
            raise ServerTrouble(
                f"The server {self.server.name} could not {what} within {self.timeout_s:g} s."
            ) from None
        except Exception as error:  # noqa: BLE001 -- as above
            if not _is_answer(error):
                await self.close()
            raise await self._trouble(f"could not {what}", error) from None

    async def close(self) -> None:
        """End the server; it may be started again."""
        (task, client), self._task, self.client = (self._task, self.client), None, None
        if task is None:
            return
        self._closing.set()
        if client is None and self._scope is not None:
            self._scope.cancel()
        await asyncio.wait({task}, timeout=_CLOSING_S)
        task.cancel()

    async def _start(self) -> None:
        self._closing, self._scope = asyncio.Event(), (scope := _scope())
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(scope, ready))
        try:
            async with asyncio.timeout(self.timeout_s):
                await asyncio.shield(ready)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 -- as above
            scope.cancel()
            raise await self._trouble("could not be started", error) from None

    async def _live(self, scope: CancelScope, ready: asyncio.Future[None]) -> None:
        """Hold the connection until it is closed or breaks."""
        try:
            with scope:
                async with self._connected() as client:
                    # A result is text for a model, whatever the tool's output schema, whose patterns can take hours.
                    client.session.validate_tool_result = _unchecked  # type: ignore[method-assign]
                    await self._list(client)
                    self.client = client
                    ready.set_result(None)
                    await self._closing.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(_innermost(error))
                return
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self.client = None
            if not ready.done():
                ready.set_exception(ServerTrouble("it was stopped"))

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        from mcp import Client, StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client

        server = self.server
        _check_command(server)
        if server.url is not None:
            import httpx2

            from localspec.chat.tools.http_answers import PLAIN, bound

            headers, hooks = {**PLAIN, **server.headers}, {"response": [bound, self._note_refusal]}
            # Replies stream for as long as a call takes, which has a limit of its own.
            async with (
                httpx2.AsyncClient(headers=headers, event_hooks=hooks, timeout=self.timeout_s) as http,
                Client(
                    streamable_http_client(server.url, http_client=http, max_sse_event_size=MOST_LINE), cache=None
                ) as client,
            ):
                yield client
            return
        parameters = StdioServerParameters(
            command=sys.executable,
            args=relayed(server.command or "", server.args),
            env=dict(server.env),
            cwd=server.cwd,
            encoding_error_handler="replace",
        )
        with self._complaints.stream() as errlog:
            async with Client(stdio_client(parameters, errlog), cache=None) as client:
                yield client

    async def _list(self, client: Client) -> None:
        """List the tools, page by page up to a limit."""
        found: list[Tool] = []
        cursor: str | None = None
        while True:
            page = await client.list_tools(cursor=cursor)
            found += [_tool(each) for each in page.tools]
            cursor = page.next_cursor
            if not cursor or len(found) > MOST_TOOLS:
                break
        fit: dict[str, Tool] = {}
        for tool in found[:MOST_TOOLS]:
            short = len(tool.description) <= MOST_DESCRIPTION and len(tool.parameters) <= MOST_SCHEMA
            if short and CALLABLE.fullmatch(tool.name):
                fit.setdefault(tool.name, tool)
        self.tools, self.left_out_n = tuple(fit.values()), len(found) - len(fit)
        offers = client.server_capabilities
        with suppress(_mcp_error()):  # a server that says it has some, and has none
            self.resources = self._resources((await client.list_resources()).resources) if offers.resources else ()
        with suppress(_mcp_error()):
            self.prompts = self._prompts((await client.list_prompts()).prompts) if offers.prompts else ()

    def _resources(self, listed: Iterable[Any]) -> tuple[Resource, ...]:
        found = (Resource(self.server.name, str(each.uri), _about(each)) for each in islice(listed, MOST_OTHERS))
        return tuple(each for each in found if _URI.fullmatch(each.uri))

    def _prompts(self, listed: Iterable[Any]) -> tuple[ServerPrompt, ...]:
        found = (
            ServerPrompt(self.server.name, each.name, _about(each), tuple(given.name for given in each.arguments or ()))
            for each in islice(listed, MOST_OTHERS)
        )
        return tuple(each for each in found if all(map(_NAME.fullmatch, (each.name, *each.fields))))

    async def _trouble(self, what: str, error: Exception) -> ServerTrouble:
        """The error to raise, with the server's last words; a connection that broke has to be closed before."""
        if isinstance(error, TimeoutError):
            reason = "it gave no answer in time"
        elif _is_end(error):
            reason = "its program ended" if self.server.url is None else "it broke off"
            await asyncio.to_thread(self._complaints.wait)
        else:
            status = f" (HTTP status {self._refusal})" if self._refusal else ""
            reason = f"{visible_line(_in_words(error))[:300].rstrip('.')}{status}"
        last = self._complaints.last
        key = "It may want a key, which `localspec mcp add --header` gives it." if self._refusal in (401, 403) else ""
        return ServerTrouble(
            f"The server {self.server.name} {what}: {reason}.", f"It said last: {last}" if last else key
        )

    async def _note_refusal(self, response: httpx2.Response) -> None:
        if response.request.method == "POST":  # another request is one for news, which a server need not have
            self._refusal = response.status_code if response.is_error else None


class _Complaints:
    """The end of what a server writes to its standard error."""

    def __init__(self) -> None:
        self._end = b""
        self._reader: threading.Thread | None = None

    def wait(self) -> None:
        """Let the last words of a program that ended arrive; not for long, as others may hold its standard error."""
        if self._reader is not None:
            self._reader.join(_LAST_WORDS_S)

    @property
    def last(self) -> str:
        """The last line, made visible, with an end like a sentence's."""
        lines = self._end.decode("utf-8", errors="replace").strip().splitlines()
        line = visible_line(lines[-1]) if lines else ""
        return f"{line[:200]}…" if len(line) > 200 else line and f"{line.rstrip('.')}."

    def stream(self) -> TextIO:
        """A stream for a server; a thread reads it to its end, so that a flood of text fills nothing."""
        read, write = os.pipe()
        self._reader = threading.Thread(target=self._read, args=(read,), name="mcp-stderr", daemon=True)
        self._reader.start()
        return os.fdopen(write, "w")

    def _read(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "rb", buffering=0) as stream:
            while data := stream.read(65536):
                self._end = (self._end + data)[-_MOST_COMPLAINT:]


def _scope() -> CancelScope:
    """The scope of a connection. Raises UsageError without the SDK."""
    try:
        import mcp  # noqa: F401
        from anyio import CancelScope
    except ImportError:
        raise UsageError(
            "Tools of MCP servers need the MCP SDK, which is not installed.",
            f"{install_extra('tools')} installs it.",
        ) from None
    return CancelScope()


def _check_command(server: McpServer) -> None:
    """Raise UsageError for a program that no folder of the PATH has."""
    command = server.command or os.sep
    if os.sep not in command and shutil.which(command, path=server.env.get("PATH")) is None:
        raise UsageError(
            f"The server {server.name} could not be started: there is no program {visible_line(command)}.",
            "Install it, or write its whole path into the settings file.",
        )


def _about(listed: Any) -> str:
    """The description of a resource or a prompt on one line."""
    return visible_line(listed.description or listed.title or listed.name)[:_MOST_ABOUT]


def _tool(tool: Any) -> Tool:
    return Tool(tool.name, (tool.description or "").strip(), json.dumps(tool.input_schema, sort_keys=True))


def _text_of(result: Any) -> str:
    """The content of a result as text: images in the form of attached ones, first; what cannot be shown is named."""
    images = [block for block in result.content if block.type == "image"]
    shown = "".join(_image(block, i) for i, block in enumerate(images[:MOST_IMAGES], 1))
    parts = [_named(block) for block in images[MOST_IMAGES:]]
    parts += [_part(block) for block in result.content if block.type != "image"]
    if not result.content and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    return shown + "\n".join(parts)


def _part(block: Any) -> str:
    match block.type:
        case "text":
            return str(block.text)
        case "audio":
            return _named(block)
        case "resource_link":
            return f"[resource {block.uri}]"
        case "resource" if getattr(block.resource, "text", None) is not None:
            return str(block.resource.text)
    return f"[{block.type}: not shown]"


def _image(block: Any, number: int) -> str:
    """An image, decoded and kept as one that is attached."""
    name = f"image {number}.png"
    try:
        with NamedTemporaryFile(prefix="localspec-", suffix=".image") as file:
            file.write(b64decode(block.data, validate=True))
            file.flush()
            return image_block(name, read_image(Path(file.name), name))
    except (LocalSpecError, ValueError, OSError):
        return f"{_named(block)}\n"


def _named(block: Any) -> str:
    return f"[{block.type} of {len(block.data) * 3 // 4} bytes, {block.mime_type}: not shown]"


def _mcp_error() -> type[MCPError]:
    """The error that a server answers with."""
    from mcp import MCPError

    return MCPError


def _in_words(error: Exception) -> str:
    """An error as the end of a sentence; of an answer that is not valid MCP, its first fault alone."""
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        wrong = error.errors(include_url=False)[0]
        return f"its answer is not valid MCP, at {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}"
    return str(error) or type(error).__name__


async def _unchecked(name: str, result: Any) -> None:
    """Take a result as it is."""


def _is_answer(error: Exception) -> bool:
    """True for an error that the server itself answered with, or an answer that is not valid MCP: it goes on after."""
    from pydantic import ValidationError

    return isinstance(error, (_mcp_error(), ValidationError)) and not _is_end(error)


def _is_end(error: Exception) -> bool:
    """True for an error of the SDK's that says that the connection has ended."""
    from mcp_types import CONNECTION_CLOSED

    return isinstance(error, _mcp_error()) and error.error.code == CONNECTION_CLOSED


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, asyncio.CancelledError):
        return ServerTrouble("it was stopped")
    return error
