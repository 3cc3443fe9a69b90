"""The pair that the engine is to have, the one it had, and the one that is to come."""

from __future__ import annotations

from localspec.chat.engine import EngineHandle
from localspec.chat.phase import Phase
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import Cancel, Load, LoadProgress


class PairSlot:
    """Asks for loads, and tells the answer to the newest from answers to those it has made obsolete.

    The first load is asked for before there is anything to hold a slot.
    """

    def __init__(self, chat_config: ChatConfig, engine: EngineHandle) -> None:
        self.chat_config = chat_config
        """What is loaded, or is being loaded, or could not be."""
        self.next: ChatConfig | None = None
        """What is to take its place as soon as the engine is free."""
        self.info: PairInfo | None = None
        """About the pair, once it is loaded; stays while it is loaded again."""
        self.phase = Phase.LOADING
        """LOADING, IDLE once the pair is there, or BROKEN: what is done with the pair is not known here."""
        self.progress = LoadProgress("starting the engine", 0.0)
        self._engine = engine
        self._former: ChatConfig | None = None
        self._ready = False
        self._due_n = 1

    @property
    def former(self) -> ChatConfig | None:
        """What was in use before a pair that could not be loaded; None if all is well."""
        return self._former if self.phase is Phase.BROKEN and not self._ready else None

    def choose(self, chat_config: ChatConfig) -> None:
        """Take this one next, unless it is there already."""
        self.next = None if chat_config == self.chat_config and self.phase is not Phase.BROKEN else chat_config

    def retry(self) -> None:
        """Load the pair again; answers to what went before no longer matter."""
        self.progress = LoadProgress("starting the engine again", 0.0)
        self._load()

    def change(self) -> bool:
        """Load what is to come, if there is anything; whether there is. A load under way ends."""
        if self.next is None:
            return False
        if self.phase is Phase.LOADING:
            self._engine.send(Cancel())
        if self._ready:
            self._former = self.chat_config
        self.chat_config, self.next, self.info = self.next, None, None
        self.progress = LoadProgress("changing the pair", 0.0)
        self._load()
        return True

    def hear(self, progress: LoadProgress) -> None:
        """Loading goes on."""
        self.progress, self.phase = progress, Phase.LOADING

    def loaded(self, info: PairInfo) -> bool:
        """A pair is loaded; whether it is the one that is wanted."""
        if not self._answered():
            return False
        self.info, self.phase = info, Phase.IDLE
        self._ready, self._former = True, None
        return True

    def refused(self) -> bool:
        """A load has failed, or was given up; whether it was the one that is wanted."""
        return self._answered()

    def _load(self) -> None:
        self.phase = Phase.LOADING
        self._ready = False
        self._due_n += 1
        self._engine.send(Load(self.chat_config.load))

    def _answered(self) -> bool:
        """The engine's last answer to a load has come; whether it is about the newest."""
        self._due_n = max(0, self._due_n - 1)
        return self._due_n == 0
