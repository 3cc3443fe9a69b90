"""The life of the server: its pair is loaded, requests are answered, and everything is ended."""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import closing
from dataclasses import dataclass, field
from socket import socket
from typing import Protocol

from localspec.base.gc_scheduler import GcScheduler, freeze_heap, give_back
from localspec.base.paths import user_paths
from localspec.insight.observers.metering import Metering
from localspec.insight.observers.observers import Observers
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.pair_info import PairInfo
from localspec.server import embeddings, status
from localspec.server.access import AccessRules
from localspec.server.app import make_app
from localspec.server.embeddings import Embeddings
from localspec.server.engines import Engines, ServiceLimits
from localspec.server.http_server import HttpServer, connections_for, logged
from localspec.server.images import forget_old_images
from localspec.server.keys import RateLimits
from localspec.server.served_pairs import ServedPairs

_PROGRESS_S, _TEND_S, _SWEEP_S = 0.1, 5.0, 86_400.0


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The options of a server."""

    access: AccessRules
    limits: ServiceLimits = field(default_factory=ServiceLimits)


class Operator(Protocol):
    """The person at the terminal, who hears of the load, the start and the stop."""

    def progress(self, what: str, fraction: float) -> None:
        """The server's own pair is being loaded."""
        ...

    def ready(self, info: PairInfo) -> None:
        """Requests are answered from now on; these are the facts of the server's own pair."""
        ...

    def news(self, observers: Observers) -> None:
        """Called now and then, as observers may have something to say."""
        ...

    def stopping(self, busy: bool) -> None:
        """A signal has come; ``busy`` is True if replies are under way, which may end."""
        ...


async def serve(chat_config: ChatConfig, options: ServerOptions, listening: list[socket], operator: Operator) -> None:
    """Load the pair of ``chat_config``, and answer requests until a signal. Raises LocalSpecError.

    ``listening`` are bound already, so that requests that come during the load wait; they are closed at the end.
    """
    metering = Metering()
    with logged(user_paths().logs / "serve.log"), closing(Observers([metering])) as observers:
        observers.use(chat_config)
        rates = RateLimits(options.access.keys)
        vectors = Embeddings(rates)
        engines = Engines(
            ServedPairs(chat_config),
            options.limits,
            observers,
            meters=metering.meters,
            rates=rates,
            vectors=vectors,
        )
        try:
            info = await _load(engines, operator)
            freeze_heap()
            operator.ready(info)
            tending = asyncio.create_task(_tend(observers, operator))
            app = make_app(
                engines,
                routes=[*status.routes(engines.figures, engines.meters.page), *embeddings.routes(vectors)],
                middleware=options.access.middleware(),
            )
            connections = connections_for(options.limits.queue)
            await HttpServer(app, engines, operator.stopping, connections=connections).serve(listening)
            tending.cancel()
        finally:
            for each in listening:
                each.close()
            await vectors.close()
            await engines.close()


async def _tend(observers: Observers, operator: Operator) -> None:
    """Tell the operator what observers have to say, and give back memory, and once a day the room of old images."""
    scheduler = GcScheduler(time.monotonic)
    swept_at = -math.inf
    while True:
        if time.monotonic() > swept_at + _SWEEP_S:
            swept_at = time.monotonic()
            await asyncio.to_thread(forget_old_images)
        operator.news(observers)
        if scheduler.due(busy=False):
            give_back()
        await asyncio.sleep(_TEND_S)


async def _load(engines: Engines, operator: Operator) -> PairInfo:
    """Load the server's own pair."""
    loading = asyncio.create_task(engines.info(""))
    try:
        while not (await asyncio.wait({loading}, timeout=_PROGRESS_S))[0]:
            if (progress := engines.progress) is not None:
                operator.progress(progress.what, progress.fraction)
        return loading.result()
    finally:
        loading.cancel()
        await asyncio.gather(loading, return_exceptions=True)
