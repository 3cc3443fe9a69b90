"""The service over engine processes: replies and questions, their queue, and the limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from localspec.base.errors import LocalSpecError
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
from localspec.server.activity import ServerActivity, is_refused
from localspec.server.embeddings import Embeddings
from localspec.server.engine_pool import EnginePool
from localspec.server.keys import RateLimits
from localspec.server.pair_engine import PairEngine
from localspec.server.served_pairs import ServedPairs
from localspec.server.service import CLIENT, STOPPED, STOPPING, BusyError, RateLimitError, ReplyRequest, ServedModel

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
    """The time after which a pair that was loaded on request is unloaded; the server's own pair stays."""


class Engines:
    """Implements ``Service`` over a pool of engine processes. Belongs to one event loop."""

    def __init__(
        self,
        pairs: ServedPairs,
        limits: ServiceLimits,
        observers: Observers,
        *,
        meters: Meters | None = None,
        rates: RateLimits | None = None,
        vectors: Embeddings | None = None,
        opener: str | None = None,
    ) -> None:
        """``opener`` is for tests, as ``EngineClient``'s. ``meters`` count what the observers do not see.

        The models of ``vectors`` are listed beside the pairs, and stop with them.
        """
        self.activity = ServerActivity()
        self._pairs = pairs
        self._limits = limits
        self._observers = observers
        self.meters = meters or Meters()
        self._rates = rates or RateLimits()
        self._vectors = vectors
        self._pool = EnginePool(pairs, self.activity, replies=limits.replies, idle_s=limits.idle_s, opener=opener)
        self._waits: set[asyncio.Timeout] = set()
        """The time limits of replies and questions that wait for a pair or a place."""
        self._queued_n = 0
        """The requests among them: several replies to one are one."""
        self._stopping = False

    def models(self) -> Sequence[ServedModel]:
        return [_as_it_is(model, self._pool.engines.get(model.id)) for model in self._pairs.models()]

    async def listed(self) -> Sequence[ServedModel]:
        _, embedders = await asyncio.gather(asyncio.to_thread(self._pairs.refresh), self.embedders())
        return [*self.models(), *embedders]

    async def embedders(self) -> Sequence[ServedModel]:
        return await self._vectors.models() if self._vectors is not None else ()

    def answering(self, model: str) -> str:
        return self._pairs.answering(model)

    def settings(self, model: str) -> ChatConfig:
        return self._pairs.settings(model)

    async def info(self, model: str) -> PairInfo:
        engine = self._pool.of(model)
        with engine.in_use():
            return await self._waited_for(engine, None)

    async def reply(self, asked: ReplyRequest) -> AsyncGenerator[Event, None]:
        chat_config = replace(self.settings(asked.model), reply=asked.options)
        client = CLIENT.get()
        self._admit(client, chat_config)
        engine = self._pool.of(asked.model)
        deadline = self._deadline()
        with engine.in_use():
            info = await self._take_place(engine, client, deadline, is_further=asked.is_further)
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
                async with aclosing(self._followed(engine, asked, events, active, deadline)) as followed:
                    async for event in followed:
                        yield event
            finally:
                timings = active.turn.reply.timings
                self._rates.spend(client, timings.prompt_n + timings.predicted_n)
                self.activity.end(number)

    @property
    def progress(self) -> LoadProgress | None:
        """The load of the server's own pair, while it is under way."""
        return self._pool.own.progress if self._pool.own is not None else None

    async def ask(self, model: str, request: Numbered) -> Answer:
        engine = self._pool.of(model)
        with engine.in_use():
            await self._waited_for(engine, self._deadline())
            if engine.questions_n > self._limits.queue:
                raise self._refusal(engine, "queue_full")
            return await engine.ask(request)

    def stop(self) -> None:
        """Refuse new requests and those that wait; replies under way go on."""
        self._stopping = True
        if self._vectors is not None:
            self._vectors.stop()
        for wait in list(self._waits):
            wait.reschedule(asyncio.get_running_loop().time())

    def fail_all(self) -> None:
        """Fail every request under way, so that its client is told why there is no more."""
        for engine in self._pool.engines.values():
            engine.fail_all(BusyError(*STOPPED))
        if self._vectors is not None:
            self._vectors.fail_all()

    @property
    def busy(self) -> bool:
        """True while an engine or the embedding model is needed by a request."""
        embedding = self._vectors is not None and self._vectors.busy
        return embedding or any(engine.users_n for engine in self._pool.engines.values())

    async def close(self) -> None:
        """End all engines, whatever they do."""
        self.stop()
        await self._pool.close()

    def figures(self) -> dict[str, Any]:
        """The state of the service for its status page; no texts, no names of clients."""
        return {
            "stopping": self._stopping,
            "waiting_n": self._queued_n,
            "queue_n": self._limits.queue,
            "refused_n": self.activity.refused_n,
            "replying_n": self.activity.replying_n,
            "totals": self.activity.totals,
            "pairs": [self._pair_figures(pair_id, engine) for pair_id, engine in self._pool.engines.items()],
            "replies": self.activity.figures(),
        }

    def _pair_figures(self, pair_id: str, engine: PairEngine) -> dict[str, Any]:
        info, progress = engine.info, engine.progress or LoadProgress("loading", 0.0)  # before it tells of its own
        return {
            "id": pair_id,
            "title": engine.chat_config.title,
            "loaded": info is not None,
            "loading": [progress.what, progress.fraction] if engine.is_loading else None,
            "silence": engine.silence,
            "few_replies": info.few_replies if info else "",
            "device": info.device if info else None,
            "n_ctx": info.n_ctx if info else None,
            "plain_per_second": info.plain_per_second if info else None,
            "replies_n": engine.places.taken_n,
            "places_n": engine.places.places_n,
            "waiting_n": engine.places.waiting_n,
        }

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
            return await self._pool.ready(engine)

    async def _take_place(
        self, engine: PairEngine, client: str, deadline: float | None, *, is_further: bool
    ) -> PairInfo:
        """Wait until the pair is loaded and has a place free; that is to be given back."""
        begun = asyncio.get_running_loop().time()
        at_once = engine.info is not None and engine.places.free_n > 0
        async with self._waiting(engine, deadline, at_once=at_once, is_further=is_further):
            await self._pool.ready(engine)
            await engine.places.take(client)
            try:
                info = await self._pool.ready(engine)  # the engine may have died meanwhile
            except BaseException:
                engine.places.give_back()
                raise
        waited_s = asyncio.get_running_loop().time() - begun
        self.meters.observe("vllm:request_queue_time_seconds", waited_s, engine.chat_config.pair_id)
        return info

    @asynccontextmanager
    async def _waiting(
        self, engine: PairEngine, deadline: float | None, *, at_once: bool, is_further: bool = False
    ) -> AsyncIterator[None]:
        """A wait for an engine. Raises BusyError if too many wait, if it takes too long, or if the server stops."""
        pair_id = engine.chat_config.pair_id
        if self._stopping:
            raise self._refusal(engine, "stopping")
        if engine.stalled:
            raise self._refusal(engine, "silent")
        # A load is begun in any case: where nobody may wait, no pair would ever be loaded.
        begins_load = engine.info is None and not engine.is_loading
        if not (at_once or is_further or begins_load) and self._queued_n >= self._limits.queue:
            raise self._refusal(engine, "queue_full")
        self._count_waiting(1, pair_id)
        self._queued_n += not is_further
        limit = asyncio.timeout_at(deadline)
        self._waits.add(limit)
        try:
            async with limit:
                yield
        except TimeoutError:
            raise self._refusal(engine, "stopping" if self._stopping else "timeout") from None
        finally:
            self._waits.discard(limit)
            self._queued_n -= not is_further
            self._count_waiting(-1, pair_id)

    def _count_waiting(self, change: int, pair_id: str | None) -> None:
        for name in ("vllm:num_requests_waiting", "llamacpp:requests_deferred"):
            self.meters.count(name, change, pair_id)

    def _refusal(self, engine: PairEngine, reason: str) -> BusyError:
        self._count_refused(engine.chat_config.pair_id, reason)
        after_s = self.activity.mean_s / self._limits.replies
        match reason:
            case "stopping":
                return BusyError(*STOPPING)
            case "queue_full":
                text = f"The server is busy, and no more than {self._limits.queue} may wait."
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

    def count_refused(self, reason: str) -> None:
        """Count a request that was refused before it named a pair."""
        self._count_refused(self.settings("").pair_id, reason)

    def _count_refused(self, pair_id: str | None, reason: str) -> None:
        self.activity.refused_n += 1
        self.meters.count("localspec:refused_requests", 1, pair_id, reason)

    async def _followed(
        self,
        engine: PairEngine,
        asked: ReplyRequest,
        events: AsyncGenerator[Event, None],
        active: ActiveReply,
        deadline: float | None,
    ) -> AsyncGenerator[Event, None]:
        """The events that the owner's check lets pass, after the observers have seen them. Ends the reply."""
        try:
            async with aclosing(events):
                async for event in self._timed(engine, events, deadline):
                    asked.check_whole(event)
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
            if is_refused(active.turn.reply):
                self._count_refused(engine.chat_config.pair_id, "prompt")
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
