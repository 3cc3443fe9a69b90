"""The places of replies in one engine, which llama-server calls slots, and the queue for them."""

from __future__ import annotations

import asyncio
from collections import deque


class Places:
    """One place for each reply that an engine makes at once; a request that finds none free waits.

    The requests of one client are served in their order, and clients take turns: one that asks a hundred things does
    not keep another waiting for them all.
    """

    def __init__(self) -> None:
        """There are no places until ``resize``."""
        self.taken_n = 0
        self.places_n = 0
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """The requests that wait, by client, in the order of their turns."""

    @property
    def free_n(self) -> int:
        return self.places_n - self.taken_n

    @property
    def waiting_n(self) -> int:
        """Requests in the queue."""
        return sum(map(len, self._waiting.values()))

    async def take(self, client: str) -> None:
        """Take a place, after a wait if none is free; ``give_back`` returns it."""
        if self.free_n > 0:
            self.taken_n += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.give_back()  # it was handed over in the moment in which its owner left
            else:
                self._leave(client, place)
            raise

    def resize(self, places_n: int) -> None:
        """Have so many places, and hand out those that are new."""
        self.places_n = places_n
        while self._waiting and self.free_n > 0:
            self.taken_n += 1  # as if somebody had it already, who hands it on
            self.give_back()

    def give_back(self) -> None:
        """Hand the place to the next in the queue, if anybody waits and there are not fewer places by now."""
        while self._waiting and self.free_n >= 0:
            client = next(iter(self._waiting))
            queue = self._waiting.pop(client)
            place = queue.popleft()
            if queue:
                self._waiting[client] = queue  # behind all others
            if not place.done():
                place.set_result(None)
                return
        self.taken_n -= 1

    def _leave(self, client: str, place: asyncio.Future[None]) -> None:
        queue = self._waiting.get(client)
        if queue is not None and place in queue:
            queue.remove(place)
            if not queue:
                del self._waiting[client]
