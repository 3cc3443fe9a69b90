"""The app's end of the engine process: start, ask, listen, start again.

``EngineClient`` owns at most one ``EngineProcess`` and one thread of its own, the keeper. Everything
that could block (starting a process, writing to a full pipe, waiting for an end) happens in the
keeper, so ``send`` only puts into a queue; and all of the client's state belongs to the keeper, so
none of it needs a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType

from localspec.base.errors import EngineError
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.messages import (
    KEEP_S,
    Answer,
    Cancel,
    CountTokens,
    HasRead,
    Load,
    Numbered,
    ReadAhead,
    Request,
    TokensCounted,
)
from localspec.runtime.worker.process import END_S, EngineProcess, died


class _Start:
    """A note to the keeper: have an engine running."""


class _End:
    """A note to the keeper: end the engine and this thread."""


class EngineClient:
    """One engine process at a time; use it as a context, or call ``close``.

    ``deliver`` is called from the client's own threads, with one answer at a time, in order. It must
    not block (post a message, put into a queue) nor call ``close``. If the process dies, ``deliver``
    gets ``Failed(died=True)`` once per outstanding request (or once with request_id None), and the
    next ``send`` starts a new process. Whatever needs a pair first loads the pair that was last asked for,
    if the process does not hold it: after a restart, or when its load was cancelled. That load's
    progress and outcome are delivered like any other's.
    """

    def __init__(self, deliver: Callable[[Answer], None], log_file: Path, *, opener: str | None = None) -> None:
        """``opener`` names what opens a pair as "module:function"; it is for tests."""
        self._deliver = deliver
        self._log_file = log_file
        self._opener = opener
        self._queue: SimpleQueue[Request | _Start | _End] = SimpleQueue()
        self._keeper = threading.Thread(target=self._keep, name="engine-client", daemon=True)
        self._begun = threading.Lock()
        self._closed = False
        self._engine: EngineProcess | None = None
        self._wanted: LoadOptions | None = None
        self._may_keep = False
        """True if a pair was asked for that keeps its caches, which takes a while."""

    def __enter__(self) -> EngineClient:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process that runs now, if one does."""
        engine = self._engine
        return None if engine is None or engine.gone else engine.pid

    def start(self) -> None:
        """Start the process ahead of the first request, so that its libraries are loaded when that comes."""
        self._put(_Start())

    def send(self, request: Request) -> None:
        """Queue a request; never blocks, never raises because the engine is gone. After ``close`` it does nothing."""
        self._put(request)

    def close(self) -> None:
        """End the process and wait for it; nothing is delivered any more. May be called again."""
        self._closed = True
        if self._keeper.ident is None:
            return
        if self._engine is not None:
            self._engine.mute()
        self._queue.put(_End())
        self._keeper.join(END_S + KEEP_S if self._may_keep else END_S)
        engine = self._engine
        if self._keeper.is_alive() and engine is not None:
            engine.kill()  # it neither reads nor ends, and the keeper waits for the one or the other
        self._keeper.join()

    def _put(self, note: Request | _Start) -> None:
        if self._closed:
            return
        with self._begun:
            if self._keeper.ident is None:
                self._keeper.start()
        self._queue.put(note)

    def _keep(self) -> None:
        """The keeper thread."""
        while not isinstance(note := self._queue.get(), _End):
            if self._closed:
                continue
            try:
                self._forward(note)
            except EngineError as error:
                self._deliver(died(note, error))
        if self._engine is not None:
            self._engine.end()

    def _forward(self, note: Request | _Start) -> None:
        match note:
            case Load(options):
                self._wanted = options
                self._may_keep |= options.keep_caches
            case Cancel() if self._engine is None or self._engine.gone:
                return  # whatever it was to end has ended
            case CountTokens() if self._engine is None or self._engine.gone:
                self._deliver(TokensCounted(None))
                return
            case ReadAhead() if self._engine is None or self._engine.gone:
                self._deliver(HasRead(0))
                return
        engine = self._running()
        if isinstance(note, Numbered) and self._wanted is not None and engine.lacks(self._wanted):
            engine.send(Load(self._wanted))
        if not isinstance(note, _Start):
            engine.send(note)

    def _running(self) -> EngineProcess:
        """The process there is, or a new one."""
        if self._engine is None or self._engine.gone:
            refused = None if self._engine is None else self._engine.refused
            self._engine = EngineProcess(self._deliver, self._log_file, self._opener, refused)
            if self._closed:  # meanwhile
                self._engine.mute()
        return self._engine
