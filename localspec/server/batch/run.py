"""Answering a batch: every line goes through the app of the server, in this process and without a socket.

Engine processes are those that a server has; they end when the last line is answered.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing, closing, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import takewhile
from typing import Any

from httpx2 import ASGITransport, AsyncClient, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from localspec.base.errors import LocalSpecError
from localspec.base.paths import user_paths
from localspec.insight.observers.observers import Observers
from localspec.runtime.chat_config import ChatConfig
from localspec.server import embeddings
from localspec.server.app import make_app
from localspec.server.batch.requests import BatchRequest, Line
from localspec.server.batch.results import BatchResult
from localspec.server.embeddings import Embeddings
from localspec.server.engines import Engines, ServiceLimits
from localspec.server.http_server import logged
from localspec.server.images import forget_old_images
from localspec.server.served_pairs import ServedPairs
from localspec.server.service import BusyError, Service
from localspec.server.streaming import AT_ONCE

logger = logging.getLogger("uvicorn.error")

_AHEAD = 8
"""Requests for each that is answered at once, that may be finished before their turn where results come in order."""
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_RETRIES_N, RETRY_S = 100, 1.0
"""Times that a request is sent again which the service has no room for yet, and the least pause before each."""
_PROGRESS_S = 0.1

Answering = asyncio.Task[BatchResult]


async def answer_batch(
    chat_config: ChatConfig,
    lines: Iterable[Line],
    *,
    parallel: int,
    in_order: bool,
    on_result: Callable[[BatchResult], object],
    on_progress: Callable[[str, float], object],
) -> None:
    """Answer all lines, those that name no pair with the one of ``chat_config``; ``on_progress`` hears of its load.

    Raises LocalSpecError if a pair cannot be loaded, and what ``on_result`` raises.
    """
    limits = ServiceLimits(parallel, queue=AT_ONCE * parallel, idle_s=math.inf)
    with logged(user_paths().logs / "batch.log"), closing(Observers()) as observers:
        observers.use(chat_config)
        engines = Engines(ServedPairs(chat_config), limits, observers)
        vectors = Embeddings()
        showing = asyncio.create_task(_show_load(engines, on_progress))
        try:
            await asyncio.to_thread(forget_old_images)
            app = make_app(engines, routes=embeddings.routes(vectors))
            batch = BatchRun(engines, app, parallel, in_order)
            async with aclosing(batch.results(lines)) as results:
                async for result in results:
                    on_result(result)
        finally:
            showing.cancel()
            await vectors.close()
            await engines.close()


async def _show_load(engines: Engines, on_progress: Callable[[str, float], object]) -> None:
    while True:
        if (progress := engines.progress) is not None:
            on_progress(progress.what, progress.fraction)
        await asyncio.sleep(_PROGRESS_S)


@dataclass(slots=True)
class BatchRun:
    """Answers requests, ``parallel`` of them at once."""

    service: Service
    app: ASGIApp
    """The app over ``service``."""
    parallel: int = 1
    in_order: bool = False
    _loads: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    """The loads of the pairs that lines have named."""

    async def results(self, lines: Iterable[Line]) -> AsyncGenerator[BatchResult, None]:
        """The result of every line, in order or as they come.

        Raises LocalSpecError if a pair cannot be loaded: then no line that asks for it can be answered.
        """
        waiting: list[Answering] = []
        source = iter(lines)
        transport = ASGITransport(self._logged, raise_app_exceptions=False)
        # The app refers a path with a slash at its end to the one without.
        client = AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=None, follow_redirects=True)
        async with client:
            try:
                while True:
                    while self._may_begin(waiting) and (line := next(source, None)) is not None:
                        waiting.append(asyncio.create_task(self._answer(client, line)))
                    if not waiting:
                        return
                    under_way = [task for task in waiting if not task.done()]
                    if under_way:
                        await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                    for answer in self._ready(waiting):
                        waiting.remove(answer)
                        yield answer.result()
            finally:
                tasks = [*waiting, *self._loads.values()]
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _logged(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The app; a bug is written where uvicorn writes it, too."""
        try:
            await self.app(scope, receive, send)
        except Exception:
            logger.exception("a request of a batch failed")
            raise

    def _ready(self, waiting: Sequence[Answering]) -> list[Answering]:
        if self.in_order:
            return list(takewhile(lambda task: task.done(), waiting))
        return [task for task in waiting if task.done()]

    def _may_begin(self, waiting: Sequence[Answering]) -> bool:
        under_way_n = sum(not task.done() for task in waiting)
        return under_way_n < self.parallel and len(waiting) < _AHEAD * self.parallel

    async def _answer(self, client: AsyncClient, line: Line) -> BatchResult:
        if not isinstance(line, BatchRequest):
            return BatchResult(line)
        if line.url != embeddings.PATH:
            await self._load(line.model)
        response = await self._sent(client, line)
        return BatchResult(line, response.status_code, _json(response))

    async def _sent(self, client: AsyncClient, request: BatchRequest) -> Response:
        """The answer; once more where there was no room, or where the engine may have died of another request."""
        failed, body = False, json.dumps(request.body)
        for _ in range(_RETRIES_N):
            response = await client.post(request.url, content=body)
            if response.status_code in _BUSY:
                await asyncio.sleep(pause_s(response))
            elif response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR or failed:
                break
            else:
                failed = True
        return response

    async def _load(self, model: str) -> None:
        """Have the pair loaded that answers for a name, once; one that is not here is left to the API to refuse."""
        pair_id = self.service.answering(model)
        if pair_id not in self._loads:
            self._loads[pair_id] = asyncio.create_task(self._loaded(pair_id))
        await asyncio.shield(self._loads[pair_id])

    async def _loaded(self, pair_id: str) -> None:
        try:
            self.service.settings(pair_id)
        except LocalSpecError:
            return
        with suppress(BusyError):
            await self.service.info(pair_id)


def pause_s(busy: Response) -> float:
    """The pause that an answer asks for: the usual time of a reply, where another pair has to end one first."""
    return RETRY_S * float(busy.headers.get("retry-after", 1))


def _json(response: Response) -> Any:
    try:
        return json.loads(response.content)
    except ValueError:
        return response.text
