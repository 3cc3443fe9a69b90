"""``localspec serve`` as a whole: its start, its page and figures, and its stop."""

from __future__ import annotations

import asyncio
import gc
import os
import plistlib
import re
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from configparser import ConfigParser
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from localspec.base.errors import InputError, ModelFileError, NotFoundError, PairMismatchError, UsageError
from localspec.config import read_config
from localspec.engine.events import Round
from localspec.insight.observers.observers import Observers
from localspec.runtime.images import keep_image
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.resolver import SettingsResolver
from localspec.server import embeddings, http_server, serving, status
from localspec.server.access import AccessRules
from localspec.server.app import make_app
from localspec.server.embeddings import Embeddings
from localspec.server.engines import Engines
from localspec.server.http_server import HttpServer
from localspec.server.service import BusyError, ReplyRequest
from localspec.server.serving import ServerOptions
from tests.readme import DOCS
from tests.server.fakes import FakeService
from tests.server.test_engines import service, until
from tests.tiny_embedders import write_embedder
from tests.tiny_heads import write_step35_target
from tests.tiny_projectors import write_png

PATIENCE_S = 120.0


@contextmanager
def served(*arguments: str, env: Mapping[str, str] | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, and its address."""
    command = [sys.executable, "-m", "localspec", "serve", "--port", "0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            address = re.search(r"http://\S+", line)
            assert address, line
            yield process, address[0]
        finally:
            process.kill()


def test_the_built_in_pair_is_served(tmp_path: Path) -> None:
    """A page, figures, metrics and vectors; one signal, and the process and its engine are gone, with exit code 0."""
    write_embedder(tmp_path / "embed.gguf")
    with (
        served(env={**os.environ, "LLAMA_CACHE": str(tmp_path)}) as (process, url),
        httpx2.Client(base_url=url, timeout=PATIENCE_S) as client,
    ):
        page = client.get("/")
        assert page.headers["content-type"].startswith("text/html")
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert not re.search(r"(?:src|href)=|https?://", page.text)
        figures = client.get("/localspec/v1/status").json()
        assert [(pair["id"], pair["loaded"]) for pair in figures["pairs"]] == [("builtin", True)]
        scraped = client.get("/metrics")
        families = text_string_to_metric_families(scraped.text)  # type: ignore[no-untyped-call]
        assert "vllm:num_requests_waiting" in {family.name for family in families}
        vectors = client.post("/v1/embeddings", json={"input": ["car", "sea"]}).json()
        assert (vectors["model"], len(vectors["data"])) == ("embed", 2)
        asked = {"messages": [{"role": "user", "content": "Tell me a story about a fox."}], "seed": 1, "max_tokens": 60}
        with ThreadPoolExecutor() as threads:
            replies = list(threads.map(lambda _: client.post("/v1/chat/completions", json=asked), range(6)))
        assert all("fox" in reply.json()["choices"][0]["message"]["content"] for reply in replies)
        with client.stream("POST", "/v1/chat/completions", json={**asked, "stream": True}) as reply:
            lines = reply.iter_lines()
            first = next(lines)
            process.send_signal(signal.SIGTERM)
            rest = list(lines)
        assert (first.startswith("data: "), rest[-2:]) == (True, ["data: [DONE]", ""])
        assert process.wait(PATIENCE_S) == 0


def test_a_pair_that_makes_one_reply_after_another_says_why(tmp_path: Path) -> None:
    """On standard error, when it is ready."""
    write_step35_target(tmp_path / "target.gguf")
    with served("--target", str(tmp_path / "target.gguf")) as (process, _):
        assert process.stderr is not None
        assert process.stderr.readline() == "It makes one reply after another: it has several MTP layers.\n"


async def test_a_stop_during_the_load_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left behind that asyncio would report as lost."""
    loading = asyncio.Event()

    class Loading(Engines):
        async def info(self, model: str) -> PairInfo:
            loading.set()
            return await super().info(model)

    monkeypatch.setattr(serving, "Engines", Loading)
    lost: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: lost.append(about))
    options = ServerOptions(AccessRules("127.0.0.1"))
    chat_config = SettingsResolver({"pair": "builtin"}).resolve(read_config())
    listening = socket.create_server(("127.0.0.1", 0))
    running = asyncio.create_task(serving.serve(chat_config, options, [listening], Silent()))
    await loading.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    gc.collect()
    assert lost == []


async def test_old_images_of_requests_are_deleted_while_it_runs(tmp_path: Path) -> None:
    image = keep_image(write_png(tmp_path / "cat.png").read_bytes()).path
    os.utime(image, (0, 0))
    with closing(Observers()) as observers:
        tending = asyncio.create_task(serving._tend(observers, Silent()))
        await until(lambda: not image.exists())
        tending.cancel()


class Silent:
    """An operator that hears nothing."""

    def progress(self, what: str, fraction: float) -> None: ...
    def ready(self, info: PairInfo) -> None: ...
    def news(self, observers: Observers) -> None: ...
    def stopping(self, busy: bool) -> None: ...


async def test_a_stop_lets_replies_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is new is refused with 503 until replies under way have ended, their time is up, or a second signal came."""
    for end, stop_s in (("client leaves", 60.0), ("time is up", 1.5), ("second signal", 60.0)):
        monkeypatch.setattr(http_server, "STOP_S", stop_s)
        async with service(tmp_path) as engines:
            with socket.create_server(("127.0.0.1", 0)) as listening:
                server = HttpServer(make_app(engines, routes=[Route("/v1/reply", replying(engines))]), engines)
                serving = asyncio.create_task(server.serve([listening]))
                url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1/reply"
                async with httpx2.AsyncClient(timeout=PATIENCE_S) as client:
                    async with client.stream("GET", url) as answer:
                        pieces = answer.aiter_text()
                        assert await anext(pieces) == "0 "
                        server.stop()
                        await asyncio.sleep(0)
                        refused = await client.get(url)
                        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
                        assert "stopping" in refused.json()["error"]["message"]
                        assert not serving.done()
                        if end == "second signal":
                            server.stop()
                        if end == "second signal":
                            with pytest.raises(httpx2.HTTPError):
                                await anext(pieces)
                        elif end == "time is up":
                            assert "The server stopped before" in await anext(pieces)
                    await serving
            await until(lambda: not engines.busy)


def replying(engines: Engines) -> Callable[[Request], Awaitable[Response]]:
    async def reply(request: Request) -> Response:
        events = engines.reply(ReplyRequest("", "count 1 then wait", ReplyOptions()))
        await anext(events)

        async def text() -> AsyncGenerator[str]:
            try:
                async for event in events:
                    if isinstance(event, Round):
                        yield event.tokens[0].text
            except BusyError as error:
                yield str(error)

        return StreamingResponse(text())

    return reply


def test_the_page_in_docs_names_every_endpoint() -> None:
    """Those of all APIs, and those of the state; and none that there is not."""
    app = make_app(FakeService(), routes=[*status.routes(dict, str), *embeddings.routes(Embeddings())])
    paths = {route.path.partition("/{")[0] for route in app.routes if isinstance(route, Route)} - {"/"}
    table = "".join(
        line for line in (DOCS / "serve.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ")
    )
    assert set(re.findall(r"`(/[^`]*)`", table)) == paths


def test_the_units_in_docs_start_the_same_command() -> None:
    """Those of systemd and launchd, which leave replies the time to end; systemd does not repeat mistakes."""
    page = (DOCS / "serve.md").read_text(encoding="utf-8")
    unit = ConfigParser(interpolation=None)
    unit.read_string(textwrap.dedent(page[page.index("    [Unit]") : page.index("For launchd")]))
    agent = plistlib.loads(textwrap.dedent(page[page.index("    <?xml") : page.index("A mistake in")]).encode())
    assert agent["ProgramArguments"] == unit["Service"]["ExecStart"].replace("%h", "/Users/me").split()
    mistakes = (UsageError, InputError, NotFoundError, ModelFileError, PairMismatchError)
    assert unit["Service"]["RestartPreventExitStatus"] == " ".join(str(each.exit_code) for each in mistakes)
    assert agent["ExitTimeOut"] == int(unit["Service"]["TimeoutStopSec"]) > http_server.STOP_S


async def test_figures_have_no_text(tmp_path: Path) -> None:
    """Neither the page's figures nor the metrics tell what was asked or written."""
    async with service(tmp_path) as engines:
        app = make_app(engines, routes=status.routes(engines.figures, engines.meters.page))
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as client:
            async for _ in engines.reply(ReplyRequest("", "count 3 then secret", ReplyOptions())):
                running = (await client.get("/localspec/v1/status")).text
            ended = (await client.get("/localspec/v1/status")).json()
            texts = running + (await client.get("/metrics")).text + str(ended)
    assert "secret" not in texts
    assert "1 2" not in texts
    assert ended["totals"]["predicted_n"] == 3
    assert ended["replies"][0]["rounds"] == [[0, 0, 1]] * 3
