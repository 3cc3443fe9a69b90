"""The pair that the engine is to have, the one it had, and the one that is to come."""

from __future__ import annotations

from localspec.launch import Launch
from localspec.tui.engine import Engine
from localspec.worker.messages import Cancel, Load


class PairSlot:
    """Asks for loads, and tells the answer to the newest from answers to those it has made obsolete.

    The first load is asked for before there is anything to hold a slot.
    """

    def __init__(self, launch: Launch, engine: Engine) -> None:
        self.launch = launch
        """What is loaded, or is being loaded, or could not be."""
        self.next: Launch | None = None
        """What is to take its place as soon as the engine is free."""
        self._engine = engine
        self._former: Launch | None = None
        self._ready = False
        self._due_n = 1

    @property
    def former(self) -> Launch | None:
        """What was in use before a pair that could not be loaded; None if all is well."""
        return None if self._ready else self._former

    def load(self) -> None:
        """Ask for the pair, again."""
        self._ready = False
        self._due_n += 1
        self._engine.send(Load(self.launch.load))

    def change(self, *, loading: bool) -> None:
        """Ask for ``next``; ``loading`` if another load is under way, which ends."""
        assert self.next is not None
        if loading:
            self._engine.send(Cancel())
        if self._ready:
            self._former = self.launch
        self.launch, self.next = self.next, None
        self.load()

    def answered(self, *, ready: bool) -> bool:
        """The engine's last answer to a load has come; whether it is about the newest."""
        self._due_n = max(0, self._due_n - 1)
        newest = self._due_n == 0
        if newest and ready:
            self._ready, self._former = True, None
        return newest
