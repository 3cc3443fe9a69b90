"""The life of a batch: engine processes as a server has them, no socket, and an end when the last line is answered."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable
from contextlib import aclosing, closing

from localspec.base.paths import user_paths
from localspec.insight.observers.observers import Observers
from localspec.runtime.chat_config import ChatConfig
from localspec.server import embeddings
from localspec.server.app import make_app
from localspec.server.batch.requests import Line
from localspec.server.batch.results import BatchResult
from localspec.server.batch.run import BatchRun
from localspec.server.embeddings import Embeddings
from localspec.server.engines import Engines, ServiceLimits
from localspec.server.http_server import logged
from localspec.server.served_pairs import ServedPairs
from localspec.server.streaming import AT_ONCE

_PROGRESS_S = 0.1


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
