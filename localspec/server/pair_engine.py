"""The engine process of one pair, for an event loop: loaded once, asked by many, closed when it is unloaded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

from localspec.base.errors import EngineError, LocalSpecError, error_from_code
from localspec.chat.answer_queue import AnswerQueue
from localspec.engine.events import Event, Finished
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.client import EngineClient
from localspec.runtime.worker.messages import (
    Answer,
    Cancel,
    Emitted,
    Failed,
    HasRead,
    Load,
    Loaded,
    LoadProgress,
    Numbered,
    Silence,
    TokensCounted,
    Unloaded,
    Write,
)
from localspec.server.places import Places

logger = logging.getLogger("localspec.server")


class PairEngine:
    """The engine process of one pair.

    It belongs to one event loop. The answers of the process arrive in another thread, and wake the loop.
    """

    def __init__(self, chat_config: ChatConfig, log_file: Path, opener: str | None = None) -> None:
        """``opener`` is for tests, as ``EngineClient``'s. Nothing is started before the first ``load``."""
        self.chat_config = chat_config
        """The configuration of its load; replies bring their own options."""
        self.places = Places()
        """As many as the pair has once it is loaded."""
        self.info: PairInfo | None = None
        """None until the pair is loaded, and after the process has died."""
        self.progress: LoadProgress | None = None
        """The load under way."""
        self.silence = ""
        """A clause on the RPC server that is waited for in vain; empty where none is."""
        self.users_n = 0
        """Requests that need the engine, waiting ones included."""
        self.used_at = 0.0
        """The loop's time at which the last of them ended."""
        self.loading: asyncio.Task[PairInfo] | None = None
        """The load under way, which belongs to no request."""
        self._loop = asyncio.get_running_loop()
        self._numbers = count(1)
        self._replies: dict[int, asyncio.Queue[Event | LocalSpecError]] = {}
        self._questions: dict[int, asyncio.Future[Answer]] = {}
        self._load_answered: asyncio.Future[PairInfo] | None = None
        self._answers = AnswerQueue()
        self._answers.listen(self._wake)
        self._client = EngineClient(self._answers.put, log_file, opener=opener)

    @property
    def is_loading(self) -> bool:
        return self.loading is not None and not self.loading.done()

    @property
    def questions_n(self) -> int:
        """Questions that wait for their answers."""
        return len(self._questions)

    @property
    def stalled(self) -> str:
        """``silence`` while an answer of the process is waited for, empty otherwise."""
        return self.silence if self._replies or self._questions or self._load_answered else ""

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the engine from being unloaded."""
        self.users_n += 1
        try:
            yield
        finally:
            self.users_n -= 1
            self.used_at = self._loop.time()

    async def load(self) -> PairInfo:
        """Load the pair, and wait for it. Raises LocalSpecError. To be called once at a time."""
        self._load_answered = self._loop.create_future()
        self._client.send(Load(self.chat_config.load))
        try:
            return await self._load_answered
        finally:
            self.progress = None

    async def events(self, request: Write) -> AsyncGenerator[Event, None]:
        """The events of a reply, for which a place has been taken. Closing it ends the reply within a round.

        The place is given back when the engine is done, however slowly the events are read. Raises LocalSpecError.
        """
        number = next(self._numbers)
        arriving = self._replies[number] = asyncio.Queue()
        self._client.send(replace(request, request_id=number))
        try:
            while True:
                event = await arriving.get()
                if isinstance(event, LocalSpecError):
                    raise event
                yield event
                if isinstance(event, Finished):
                    return
        finally:
            if number in self._replies:
                self._client.send(Cancel(number))

    async def ask(self, request: Numbered) -> Answer:
        """The one answer to a question. Raises LocalSpecError."""
        number = next(self._numbers)
        answered = self._questions[number] = self._loop.create_future()
        self._client.send(replace(request, request_id=number))
        try:
            answer: Answer = await answered
        finally:
            if self._questions.pop(number, None) is not None:
                self._client.send(Cancel(number))
        if isinstance(answer, Failed):
            raise _error(answer)
        return answer

    async def close(self) -> None:
        """End the process. Whoever still waits for it gets an EngineError."""
        await asyncio.to_thread(self._client.close)
        self.info = None
        closed = EngineError("The pair was unloaded meanwhile.", "Ask again, and it is loaded again.")
        self._settle_load(closed)
        self.fail_all(closed)

    def fail_all(self, error: LocalSpecError) -> None:
        """Give this error to whoever waits for a reply or an answer; the process is not told."""
        for number in list(self._replies):
            self._pass_on(number, error)
        for number in list(self._questions):
            self._answer(number, Failed(number, error.exit_code, error.message, error.hint))

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._hear_all)

    def _hear_all(self) -> None:
        for answer in self._answers.take():
            self._hear(answer)
        self._answers.sleep()

    def _hear(self, answer: Answer) -> None:
        if isinstance(answer, Silence) and not self.silence:  # it is told again while it lasts
            logger.warning("%s: %s", self.chat_config.title, answer.what)
        self.silence = answer.what if isinstance(answer, Silence) else ""
        if isinstance(answer, Failed) and answer.died and (self.info is not None or self.progress is not None):
            logger.error("%s: %s", self.chat_config.title, answer.message)
            self.info = self.progress = None
        match answer:
            case LoadProgress():
                self.progress = answer
            case Loaded(info):
                self.info = info
                self.places.resize(info.replies)
                self._settle_load(info)
            case Unloaded() | TokensCounted() | HasRead() | Silence():
                pass
            case Failed(request_id=None):
                self.info = None
                self._settle_load(_error(answer))
            case Failed(request_id=int(number)):
                self._fail(answer, number)
            case Emitted(number, event):
                self._pass_on(number, event)
            case _:
                assert answer.request_id is not None
                self._answer(answer.request_id, answer)

    def _settle_load(self, outcome: PairInfo | LocalSpecError) -> None:
        load, self._load_answered = self._load_answered, None
        if load is None or load.done():
            return
        if isinstance(outcome, PairInfo):
            load.set_result(outcome)
        else:
            load.set_exception(outcome)

    def _fail(self, failed: Failed, number: int) -> None:
        if number in self._replies:
            self._pass_on(number, _error(failed))
        else:
            self._answer(number, failed)

    def _pass_on(self, number: int, event: Event | LocalSpecError) -> None:
        """Hand an event to whoever reads the reply; the last one frees its place."""
        arriving = self._replies.get(number)
        if arriving is None:
            return
        arriving.put_nowait(event)
        if isinstance(event, Finished | LocalSpecError):
            del self._replies[number]
            self.places.give_back()

    def _answer(self, number: int, answer: Answer) -> None:
        asked = self._questions.pop(number, None)
        if asked is not None and not asked.done():
            asked.set_result(answer)


def _error(failed: Failed) -> LocalSpecError:
    return error_from_code(failed.exit_code, failed.message, failed.hint)
