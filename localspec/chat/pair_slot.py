"""The pair that replies: loading it, changing it for another, and the way back where that fails.

``PairSlot`` has the rules. ``EnginePairSlot`` loads in the engine process and goes on meanwhile; ``InProcessPair``
loads in this process and waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.options import Progress
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import Cancel, Generate, Load, LoadProgress, Request

if TYPE_CHECKING:
    from localspec.runtime.interruptible import InterruptiblePair, Opener


class Phase(StrEnum):
    """The work of the engine, as far as it has reported."""

    LOADING = "loading"
    IDLE = "idle"
    READING = "reading the prompt"
    WRITING = "writing"
    BROKEN = "broken"
    """Loading failed, or the engine process died; the next message loads the pair again."""


class EngineHandle(Protocol):
    """The engine process to its users. Its answers come through an ``AnswerQueue``."""

    def send(self, request: Request) -> None: ...


class PairSlot:
    """The configuration in use, the next one, and the former one if the one in use cannot be loaded."""

    def __init__(self, chat_config: ChatConfig) -> None:
        self.chat_config = chat_config
        """The configuration of the pair that is loaded, is being loaded or could not be."""
        self.next: ChatConfig | None = None
        """The configuration to load as soon as the engine is free."""
        self.phase = Phase.LOADING
        """LOADING, IDLE once the pair is loaded, or BROKEN. Replies are not known here."""
        self._former: ChatConfig | None = None
        self._ready = False

    @property
    def former(self) -> ChatConfig | None:
        """The configuration in use before a pair that could not be loaded; None if all is well."""
        return self._former if self.phase is Phase.BROKEN and not self._ready else None

    def choose(self, chat_config: ChatConfig) -> None:
        """Load this one next, unless it is in use."""
        self.next = None if chat_config == self.chat_config and self.phase is not Phase.BROKEN else chat_config

    def adopt(self, chat_config: ChatConfig) -> None:
        """Reply by ``chat_config`` from now on; the loaded pair stays."""
        self.chat_config = replace(chat_config, load=self.chat_config.load)

    def break_down(self) -> None:
        """Nothing is loaded, or the engine has died; the next message loads the pair again."""
        self.phase = Phase.BROKEN

    def _take_next(self) -> bool:
        """Make the next configuration the one in use; False if there is none."""
        if self.next is None:
            return False
        if self._ready:
            self._former = self.chat_config
        self.chat_config, self.next = self.next, None
        return True

    def _loading(self) -> None:
        self.phase, self._ready = Phase.LOADING, False

    def _loaded(self) -> None:
        self.phase, self._ready, self._former = Phase.IDLE, True, None


class EnginePairSlot(PairSlot):
    """Sends loads to the engine process, and tells the answer to the latest from answers to obsolete ones.

    The first load is sent where the engine is started, not here.
    """

    def __init__(self, chat_config: ChatConfig, engine: EngineHandle) -> None:
        super().__init__(chat_config)
        self.info: PairInfo | None = None
        """The loaded pair; stays while it is loaded again."""
        self.progress = LoadProgress("starting the engine", 0.0)
        self._engine = engine
        self._due_n = 1

    def retry(self) -> None:
        """Load the pair again; answers to earlier loads no longer count."""
        self._load("starting the engine again")

    def change(self) -> bool:
        """Load the next configuration and end a load under way; False if there is none."""
        loading = self.phase is Phase.LOADING
        if not self._take_next():
            return False
        if loading:
            self._engine.send(Cancel())
        self.info = None
        self._load("changing the pair")
        return True

    def hear(self, progress: LoadProgress) -> None:
        """Take in how far a load has come."""
        self.progress, self.phase = progress, Phase.LOADING

    def loaded(self, info: PairInfo) -> bool:
        """Take in that a pair is loaded; True if it is the latest asked for."""
        if not self.answered():
            return False
        self.info = info
        self._loaded()
        return True

    def answered(self) -> bool:
        """Take in that a load is over, failed or cancelled; True if it is the latest asked for."""
        self._due_n = max(0, self._due_n - 1)
        return self._due_n == 0

    def _load(self, what: str) -> None:
        self.progress = LoadProgress(what, 0.0)
        self._loading()
        self._due_n += 1
        self._engine.send(Load(self.chat_config.load))


class InProcessPair(PairSlot):
    """Holds one open pair; a context, entered with the pair loaded, from the main thread."""

    def __init__(
        self, opener: Opener, chat_config: ChatConfig, progress: Callable[[], Progress | None] = lambda: None
    ) -> None:
        """``progress`` is called before each load; the function it returns is called with the progress of the load."""
        super().__init__(chat_config)
        self._opener = opener
        self._progress = progress
        self._open: ExitStack | None = None
        self._pair: InterruptiblePair | None = None

    def __enter__(self) -> InProcessPair:
        """Raises LocalSpecError if the pair cannot be loaded, KeyboardInterrupt if Ctrl-C ends that."""
        self._load()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    @property
    def info(self) -> PairInfo:
        """The loaded pair; it is loaded if the last change left none. Raises LocalSpecError."""
        return self._opened().info

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C came during the latest reply, or later while the pair was closed."""
        return self._pair is not None and self._pair.interrupted

    def reply(self, asked: Generate) -> Iterator[Event]:
        """The events of a reply, as of ``InterruptiblePair.reply``; the pair is loaded if there is none."""
        yield from self._opened().reply(asked.prompt, asked.options, asked.prefix)

    def change(self, chat_config: ChatConfig) -> None:
        """Load another pair. If that fails the former one is loaded again, and the error raised."""
        self.choose(chat_config)
        if not self._take_next():
            return
        self._close()
        try:
            self._load()
        except (LocalSpecError, KeyboardInterrupt):
            if self.former is not None:
                self.choose(self.former)
                self._take_next()
                self._load()
            raise

    def _opened(self) -> InterruptiblePair:
        return self._pair if self._pair is not None and self._open is not None else self._load()

    def _load(self) -> InterruptiblePair:
        from localspec.runtime.interruptible import open_interruptibly  # the screen does without it

        self._loading()
        try:
            with ExitStack() as stack:
                opened = open_interruptibly(self._opener, self.chat_config.load, self._progress())
                self._pair = stack.enter_context(opened)
                self._open = stack.pop_all()
        except BaseException:
            self.break_down()
            raise
        self._loaded()
        return self._pair

    def _close(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened.close()
