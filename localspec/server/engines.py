"""The service over engine processes: pairs loaded on request, queues, limits, and putting away."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from localspec.base.errors import CapacityError, LocalSpecError
from localspec.base.machine import memory
from localspec.base.paths import user_paths
from localspec.chat.active_reply import ActiveReply
from localspec.chat.reply_check import check_of
from localspec.chat.reply_metadata import reply_about
from localspec.chat.turn import Turn
from localspec.engine.events import Event
from localspec.insight.metrics.meters import Meters
from localspec.insight.observers.observers import Observers
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import Infill, TokenIds
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import Answer, Complete, Generate, LoadProgress, Numbered, Write
from localspec.server.activity import ServerActivity
from localspec.server.keys import RateLimits
from localspec.server.pair_engine import PairEngine
from localspec.server.served_pairs import ServedPairs, size_of
from localspec.server.service import CLIENT, BusyError, NoRoomError, RateLimitError, ReplyRequest, ServedModel

_CHECK_S = 0.02
"""The pause between two looks at a check that holds the end of a reply."""
_SILENT_S = 15.0
_SILENT_HINT = "Try again when that machine answers."


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """The limits of the service as a whole."""

    replies: int = 4
    """Replies that an engine makes at once."""
    queue: int = 64
    """Requests that may wait."""
    timeout_s: float | None = None
    """The longest that a reply may take, waiting included."""
    idle_s: float = 1800.0
    """The time after which a pair that was loaded on request is put away; the server's own pair stays."""


class Engines:
    """Implements ``Service`` with one engine process for each pair that is loaded. Belongs to one event loop."""

    def __init__(
        self,
        pairs: ServedPairs,
        limits: ServiceLimits,
        observers: Observers,
        *,
        meters: Meters | None = None,
        rates: RateLimits | None = None,
        opener: str | None = None,
    ) -> None:
        """``opener`` is for tests, as ``EngineClient``'s. ``meters`` count what the observers do not see."""
        self.activity = ServerActivity()
        self._pairs = pairs
        self._limits = limits
        self._observers = observers
        self.meters = meters or Meters()
        self._rates = rates or RateLimits()
        self._opener = opener
        self._engines: dict[str, PairEngine] = {}
        self._one_load = asyncio.Lock()
        self._waits: set[asyncio.Timeout] = set()
        """The time limits of requests that wait for a pair or a place."""
        self._stopping = False
        self._sweeping = asyncio.create_task(self._put_away_idle())

    def models(self) -> Sequence[ServedModel]:
        return [_as_it_is(model, self._engines.get(model.id)) for model in self._pairs.models()]

    def settings(self, model: str) -> ChatConfig:
        return self._pairs.settings(model)

    async def info(self, model: str) -> PairInfo:
        engine = self._engine(model)
        with engine.in_use():
            return await self._waited_for(engine, None)

    async def reply(self, asked: ReplyRequest) -> AsyncGenerator[Event, None]:
        chat_config = replace(self.settings(asked.model), reply=asked.options)
        client = CLIENT.get()
        self._admit(client, chat_config)
        engine = self._engine(asked.model)
        deadline = self._deadline()
        with engine.in_use():
            info = await self._take_place(engine, client, deadline)
            events = engine.events(_request(asked))
            active = ActiveReply(
                Generate(0, "", asked.options),
                Turn(""),
                reply_about(chat_config, info),
                self._observers,
                check=check_of(chat_config.outlets.reply_check),
            )
            number = self.activity.begin(self._pairs.id_of(asked.model), active)
            try:
                async with aclosing(self._followed(engine, events, active, deadline)) as followed:
                    async for event in followed:
                        yield event
            finally:
                timings = active.turn.reply.timings
                self._rates.spend(client, timings.prompt_n + timings.predicted_n)
                self.activity.end(number)

    @property
    def progress(self) -> LoadProgress | None:
        """The load of the server's own pair, while it is under way."""
        own = self._engines.get(self._pairs.own_id)
        return own.progress if own is not None else None

    async def ask(self, model: str, request: Numbered) -> Answer:
        engine = self._engine(model)
        with engine.in_use():
            await self._waited_for(engine, self._deadline())
            if engine.questions_n > self._limits.queue:
                raise self._refusal(engine, "queue_full")
            return await engine.ask(request)

    def stop(self) -> None:
        """Refuse new requests and those that wait; replies under way go on."""
        self._stopping = True
        for wait in list(self._waits):
            wait.reschedule(asyncio.get_running_loop().time())

    @property
    def busy(self) -> bool:
        """True while an engine is needed by a request."""
        return any(engine.users_n for engine in self._engines.values())

    async def close(self) -> None:
        """End all engines, whatever they do."""
        self.stop()
        self._sweeping.cancel()
        loads = [engine.loading for engine in self._engines.values() if engine.loading is not None]
        for load in loads:
            load.cancel()
        await asyncio.gather(*loads, self._sweeping, return_exceptions=True)
        await asyncio.gather(*(engine.close() for engine in self._engines.values()))

    def figures(self) -> dict[str, Any]:
        """The state of the service for its status page; no texts, no names of clients."""
        return {
            "stopping": self._stopping,
            "waiting_n": len(self._waits),
            "queue_n": self._limits.queue,
            "refused_n": self.activity.refused_n,
            "replying_n": self.activity.replying_n,
            "totals": self.activity.totals,
            "pairs": [self._pair_figures(pair_id, engine) for pair_id, engine in self._engines.items()],
            "replies": self.activity.figures(),
        }

    def _pair_figures(self, pair_id: str, engine: PairEngine) -> dict[str, Any]:
        info, progress = engine.info, engine.progress
        return {
            "id": pair_id,
            "title": engine.chat_config.title,
            "loaded": info is not None,
            "loading": [progress.what, progress.fraction] if progress is not None else None,
            "silence": engine.silence,
            "device": info.device if info else None,
            "n_ctx": info.n_ctx if info else None,
            "plain_per_second": info.plain_per_second if info else None,
            "replies_n": engine.places.taken_n,
            "places_n": engine.places.places_n,
            "waiting_n": engine.places.waiting_n,
        }

    def _engine(self, model: str) -> PairEngine:
        pair_id = self._pairs.id_of(model)
        if pair_id not in self._engines:
            chat_config = self.settings(model)
            chat_config = replace(chat_config, load=replace(chat_config.load, replies=self._limits.replies))
            log_file = user_paths().logs / f"serve-{re.sub(r'[^A-Za-z0-9._-]+', '-', pair_id)}.log"
            self._engines[pair_id] = PairEngine(chat_config, log_file, self._opener)
        return self._engines[pair_id]

    def _admit(self, client: str, chat_config: ChatConfig) -> None:
        """Raises RateLimitError."""
        try:
            self._rates.admit(client)
        except RateLimitError:
            self._count_refused(chat_config.pair_id, "rate_limit")
            raise

    def _deadline(self) -> float | None:
        timeout_s = self._limits.timeout_s
        return None if timeout_s is None else asyncio.get_running_loop().time() + timeout_s

    async def _waited_for(self, engine: PairEngine, deadline: float | None) -> PairInfo:
        """Wait until the pair is loaded. Raises BusyError as ``_waiting``."""
        async with self._waiting(engine, deadline, at_once=engine.info is not None):
            return await self._ready(engine)

    async def _take_place(self, engine: PairEngine, client: str, deadline: float | None) -> PairInfo:
        """Wait until the pair is loaded and has a place free; that is to be given back."""
        begun = asyncio.get_running_loop().time()
        at_once = engine.info is not None and engine.places.free_n > 0
        async with self._waiting(engine, deadline, at_once=at_once):
            await self._ready(engine)
            await engine.places.take(client)
            try:
                info = await self._ready(engine)  # the engine may have died meanwhile
            except BaseException:
                engine.places.give_back()
                raise
        waited_s = asyncio.get_running_loop().time() - begun
        self.meters.observe("vllm:request_queue_time_seconds", waited_s, engine.chat_config.pair_id)
        return info

    @asynccontextmanager
    async def _waiting(self, engine: PairEngine, deadline: float | None, *, at_once: bool) -> AsyncIterator[None]:
        """A wait for an engine. Raises BusyError if too many wait, if it takes too long, or if the server stops."""
        pair_id = engine.chat_config.pair_id
        if self._stopping:
            raise self._refusal(engine, "stopping")
        if engine.stalled:
            raise self._refusal(engine, "silent")
        if not at_once and len(self._waits) >= self._limits.queue:
            raise self._refusal(engine, "queue_full")
        self._count_waiting(1, pair_id)
        limit = asyncio.timeout_at(deadline)
        self._waits.add(limit)
        try:
            async with limit:
                yield
        except TimeoutError:
            raise self._refusal(engine, "stopping" if self._stopping else "timeout") from None
        finally:
            self._waits.discard(limit)
            self._count_waiting(-1, pair_id)

    def _count_waiting(self, change: int, pair_id: str | None) -> None:
        for name in ("vllm:num_requests_waiting", "llamacpp:requests_deferred"):
            self.meters.count(name, change, pair_id)

    def _refusal(self, engine: PairEngine, reason: str) -> BusyError:
        self._count_refused(engine.chat_config.pair_id, reason)
        after_s = self.activity.mean_s / self._limits.replies
        match reason:
            case "stopping":
                return BusyError("The server is stopping.", "Try again when it has been started again.")
            case "queue_full":
                text = f"{self._limits.queue} requests wait already, which is as many as may."
                return BusyError(text, "Try again later.", retry_after_s=after_s)
            case "silent":
                text = f"{engine.chat_config.title} cannot answer: {engine.stalled}."
                return BusyError(text, _SILENT_HINT, retry_after_s=_SILENT_S)
            case _:
                return self._too_slow(engine, after_s)

    def _too_slow(self, engine: PairEngine, after_s: float) -> BusyError:
        text = f"It took longer than {self._limits.timeout_s:g} s, the most that this server gives to a reply"
        if engine.stalled:
            return BusyError(f"{text}: {engine.stalled}.", _SILENT_HINT, retry_after_s=_SILENT_S)
        return BusyError(f"{text}.", "Ask for fewer tokens, or when the server has less to do.", retry_after_s=after_s)

    def _count_refused(self, pair_id: str | None, reason: str) -> None:
        self.activity.refused_n += 1
        self.meters.count("localspec:refused_requests", 1, pair_id, reason)

    async def _followed(
        self, engine: PairEngine, events: AsyncGenerator[Event, None], active: ActiveReply, deadline: float | None
    ) -> AsyncGenerator[Event, None]:
        """The events that the owner's check lets pass, after the observers have seen them. Ends the reply."""
        try:
            async with aclosing(events):
                async for event in self._timed(engine, events, deadline):
                    for passed in active.passed(event):
                        active.receive(passed)
                        yield passed
            while active.held_back:
                for passed in active.passed():
                    active.receive(passed)
                    yield passed
                await asyncio.sleep(_CHECK_S)
        except LocalSpecError as error:
            active.fail(error)
            raise
        finally:
            active.cut_short()

    async def _timed(
        self, engine: PairEngine, events: AsyncGenerator[Event, None], deadline: float | None
    ) -> AsyncGenerator[Event, None]:
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    event = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise self._too_slow(engine, self.activity.mean_s) from None
            yield event

    async def _ready(self, engine: PairEngine) -> PairInfo:
        """The pair of an engine; whoever comes first begins its load, and all wait for the same one."""
        if engine.info is not None:
            return engine.info
        if engine.loading is None or engine.loading.done():
            engine.loading = asyncio.create_task(self._load(engine))
            engine.loading.add_done_callback(lambda load: load.cancelled() or load.exception())  # even if all have gone
        # The load goes on when whoever began it has gone.
        return await asyncio.shield(engine.loading)

    async def _load(self, engine: PairEngine) -> PairInfo:
        """Load a pair when no other is being loaded; those that are not needed make room for it."""
        async with self._one_load:
            with engine.in_use():
                await self._free_memory(engine)
                while True:
                    try:
                        return await engine.load()
                    except CapacityError as error:
                        if await self._put_one_away(but=engine):
                            continue
                        if self._loaded(but=engine):
                            text = f"{error.message} Other pairs reply just now."
                            raise BusyError(text, error.hint, retry_after_s=self.activity.mean_s) from None
                        raise NoRoomError(error.message, error.hint) from None

    async def _free_memory(self, engine: PairEngine) -> None:
        """Have the weights of all loaded pairs fit the memory: each engine's own check sees only its own.

        Weights are mapped from files. The system would read them again and again if they did not all fit.
        """
        physical = memory().physical
        wanted = size_of(engine.chat_config.load)
        while physical is not None and wanted + sum(map(_ram_bytes, self._loaded(but=engine))) > physical:
            if not await self._put_one_away(but=engine):
                return

    def _loaded(self, *, but: PairEngine) -> list[PairEngine]:
        return [engine for engine in self._engines.values() if engine.info is not None and engine is not but]

    async def _put_one_away(self, *, but: PairEngine) -> bool:
        """Put the pair away that was not needed for longest, the server's own last; False if all are needed."""
        idle = [engine for engine in self._loaded(but=but) if not engine.users_n]
        if not idle:
            return False
        own = self._engines.get(self._pairs.own_id)
        await self._put_away(min(idle, key=lambda engine: (engine is own, engine.used_at)))
        return True

    async def _put_away(self, engine: PairEngine) -> None:
        self._engines = {pair_id: each for pair_id, each in self._engines.items() if each is not engine}
        await engine.close()

    async def _put_away_idle(self) -> None:
        """The task that puts away what was not needed for a while."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(30.0, self._limits.idle_s / 4))
            for pair_id, engine in list(self._engines.items()):
                idle = not engine.users_n and loop.time() - engine.used_at >= self._limits.idle_s
                if idle and pair_id != self._pairs.own_id:
                    await self._put_away(engine)


def _as_it_is(model: ServedModel, engine: PairEngine | None) -> ServedModel:
    """A listed pair with the state of its engine."""
    if engine is None:
        return model
    model, places = replace(model, silence=engine.stalled), engine.places
    if engine.info is None:
        return model
    return replace(model, loaded=True, info=engine.info, replies_n=places.taken_n, places_n=places.places_n)


def _request(asked: ReplyRequest) -> Write:
    """The request to an engine, which numbers it. The text of a seed is not to depend on who else is served."""
    options = replace(asked.options, repeatable=asked.options.seed is not None)
    if isinstance(asked.prompt, TokenIds | Infill):
        return Complete(0, asked.prompt, options, asked.prefix)
    return Generate(0, asked.prompt, options, asked.prefix)


def _ram_bytes(engine: PairEngine) -> int:
    """The weights of a loaded pair in RAM; none if a GPU has them."""
    on_cpu = engine.info is not None and engine.info.device.startswith("CPU")
    return size_of(engine.chat_config.load) if on_cpu else 0
