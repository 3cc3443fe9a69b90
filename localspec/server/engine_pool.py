"""The engine processes of a server: one for each pair, loaded one at a time, unloaded for room or after idling."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

from localspec.base.errors import CapacityError
from localspec.base.machine import memory
from localspec.base.paths import user_paths
from localspec.runtime.pair_info import PairInfo
from localspec.server.activity import ServerActivity
from localspec.server.pair_engine import PairEngine
from localspec.server.served_pairs import ServedPairs, size_of
from localspec.server.service import BusyError, NoRoomError


class EnginePool:
    """The engines of the pairs that were asked for. Belongs to one event loop; ``close`` ends all processes."""

    def __init__(
        self, pairs: ServedPairs, activity: ServerActivity, *, replies: int, idle_s: float, opener: str | None = None
    ) -> None:
        """Each engine makes so many ``replies`` at once; after ``idle_s`` it is unloaded, but for the server's own."""
        self.engines: dict[str, PairEngine] = {}
        """The engines by the id of the pair, loaded or not."""
        self._pairs = pairs
        self._activity = activity
        self._replies = replies
        self._idle_s = idle_s
        self._opener = opener
        self._one_load = asyncio.Lock()
        self._sweeping = asyncio.create_task(self._put_away_idle())

    @property
    def own(self) -> PairEngine | None:
        """The engine of the server's own pair."""
        return self.engines.get(self._pairs.own_id)

    def of(self, model: str) -> PairEngine:
        """The engine of the pair that a client names, which will be loaded as the settings are now.

        Raises NotFoundError.
        """
        pair_id = self._pairs.id_of(model)
        engine = self.engines.get(pair_id)
        if engine is not None and (engine.info is not None or engine.is_loading):
            return engine
        chat_config = self._pairs.settings(model)
        chat_config = replace(chat_config, load=replace(chat_config.load, replies=self._replies))
        if engine is None:
            log_file = user_paths().logs / f"serve-{re.sub(r'[^A-Za-z0-9._-]+', '-', pair_id)}.log"
            engine = self.engines[pair_id] = PairEngine(chat_config, log_file, self._opener)
        engine.chat_config = chat_config
        return engine

    async def ready(self, engine: PairEngine) -> PairInfo:
        """The pair of an engine. The first that waits for it begins its load, and all wait for the same one."""
        if engine.info is not None:
            return engine.info
        if engine.loading is None or engine.loading.done():
            engine.loading = asyncio.create_task(self._load(engine))
            engine.loading.add_done_callback(lambda load: load.cancelled() or load.exception())  # even if all have gone
        # The load goes on when the one who began it has gone.
        return await asyncio.shield(engine.loading)

    async def close(self) -> None:
        """End all engines, whatever they do."""
        self._sweeping.cancel()
        loads = [engine.loading for engine in self.engines.values() if engine.loading is not None]
        for load in loads:
            load.cancel()
        await asyncio.gather(*loads, self._sweeping, return_exceptions=True)
        await asyncio.gather(*(engine.close() for engine in self.engines.values()))

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
                            raise BusyError(text, error.hint, retry_after_s=self._activity.mean_s) from None
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
        return [engine for engine in self.engines.values() if engine.info is not None and engine is not but]

    async def _put_one_away(self, *, but: PairEngine) -> bool:
        """Put the pair away that was not needed for longest, the server's own last; False if all are needed."""
        idle = [engine for engine in self._loaded(but=but) if not engine.users_n]
        if not idle:
            return False
        await self._put_away(min(idle, key=lambda engine: (engine is self.own, engine.used_at)))
        return True

    async def _put_away(self, engine: PairEngine) -> None:
        self.engines = {pair_id: each for pair_id, each in self.engines.items() if each is not engine}
        await engine.close()

    async def _put_away_idle(self) -> None:
        """The task that puts away what was not needed for a while."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(30.0, max(0.05, self._idle_s / 4)))
            for engine in list(self.engines.values()):
                idle = not engine.users_n and not engine.is_loading and loop.time() - engine.used_at >= self._idle_s
                if idle and engine is not self.own:
                    await self._put_away(engine)


def _ram_bytes(engine: PairEngine) -> int:
    """The weights of a loaded pair in RAM; none if a GPU has them."""
    on_cpu = engine.info is not None and engine.info.device.startswith("CPU")
    return size_of(engine.chat_config.load) if on_cpu else 0
