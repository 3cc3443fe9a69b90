"""A service whose replies are given events, and the app over it, served on loopback."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from localspec.base.errors import LocalSpecError, NotFoundError
from localspec.engine.events import Event, Finished, FinishReason, Origin, Proposal, Round, Started, Token, ToolCall
from localspec.engine.tally import Tally
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.options import LoadOptions
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import Answer, Numbered
from localspec.server.service import ReplyRequest, ServedModel

PAIR = "small/pair"
ELSEWHERE = "large/pair"
"""A pair that is known, and not on this machine."""
CREATED = 1_700_000_000
INFO = PairInfo(
    target=Path("target.gguf"),
    draft=Path("draft.gguf"),
    target_name="Small",
    draft_name="Smaller",
    target_size_bytes=2_000,
    draft_size_bytes=1_000,
    n_vocab=100,
    n_ctx=512,
    threads=2,
    device="CPU, 2 threads",
    plain_per_second=100.0,
    load_s=0.1,
)

Step = Event | LocalSpecError | asyncio.Event
"""An event of a reply; an error that is raised in its place; or something that is waited for."""


@dataclass(slots=True)
class FakeService:
    """One pair. Each reply takes the next of ``replies``, the last again and again; ``asked`` has what was asked."""

    replies: Sequence[Sequence[Step]] = ()
    answers: Sequence[Answer | LocalSpecError] = ()
    """Answers of ``ask``, in order."""
    config: ChatConfig = field(default_factory=lambda: ChatConfig(LoadOptions(Path("target.gguf")), pair_id=PAIR))
    pair: PairInfo = INFO
    silence: str = ""
    embedding_models: Sequence[ServedModel] = ()
    asked: list[ReplyRequest] = field(default_factory=list)
    questions: list[Numbered] = field(default_factory=list)
    closed_n: int = 0
    """Replies that were closed before their last event."""

    def models(self) -> Sequence[ServedModel]:
        model = ServedModel(PAIR, "A small pair", CREATED, 3_000, loaded=True, info=self.pair, replies_n=1, places_n=2)
        return [replace(model, silence=self.silence, target=self.config.load.target)]

    async def listed(self) -> Sequence[ServedModel]:
        return [*self.models(), *self.embedding_models]

    async def embedders(self) -> Sequence[ServedModel]:
        return self.embedding_models

    def answering(self, model: str) -> str:
        return model if model == ELSEWHERE else PAIR

    def settings(self, model: str) -> ChatConfig:
        if model not in ("", PAIR):
            raise NotFoundError(f"There is no pair named {model}.", "GET /v1/models lists the pairs.")
        return self.config

    async def info(self, model: str) -> PairInfo:
        self.settings(model)
        return self.pair

    async def reply(self, asked: ReplyRequest) -> AsyncGenerator[Event, None]:
        self.settings(asked.model)
        steps = self.replies[min(len(self.asked), len(self.replies) - 1)]
        self.asked.append(asked)
        whole = False
        try:
            for step in steps:
                await asyncio.sleep(0)
                if isinstance(step, LocalSpecError):
                    whole = True
                    raise step
                if isinstance(step, asyncio.Event):
                    await step.wait()
                else:
                    asked.check_whole(step)
                    whole = isinstance(step, Finished)
                    yield step
        finally:
            self.closed_n += not whole

    async def ask(self, model: str, request: Numbered) -> Answer:
        self.settings(model)
        answer = self.answers[len(self.questions)]
        self.questions.append(request)
        if isinstance(answer, LocalSpecError):
            raise answer
        return answer


def said(
    *pieces: str,
    reason: FinishReason = FinishReason.STOP,
    calls: Sequence[ToolCall] = (),
) -> list[Event]:
    """A reply whose tokens read ``pieces``: two a round, the first accepted, with a rejected proposal each round.

    A reply that ends by itself has one more token, without text.
    """
    texts = [*pieces, ""] if reason is FinishReason.STOP else list(pieces)
    rounds = [_round(start // 2, start, texts[start : start + 2]) for start in range(0, len(texts), 2)]
    started = Started(prompt_n=10, cache_n=4, seed=7)
    tally = Tally(cache_n=started.cache_n, prompt_n=started.prompt_n - started.cache_n)
    for round_ in rounds:
        tally.add(round_)
    finished = Finished(reason, "".join(pieces), tally.timings(), tuple(calls))
    return [started, *rounds, finished]


def _round(index: int, first_id: int, texts: Sequence[str]) -> Round:
    origins = (Origin.ACCEPTED, Origin.CORRECTED)[-len(texts) :]
    tokens = tuple(
        Token(first_id + i, text, origin, "draft" if origin is Origin.ACCEPTED else None)
        for i, (text, origin) in enumerate(zip(texts, origins, strict=True))
    )
    return Round(
        index,
        "draft",
        len(texts),
        tokens,
        (Proposal(99, "no", "draft"),),
        (),
        draft_s=0.001,
        verify_s=0.002,
        total_s=0.004,
    )


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncGenerator[str]:
    """The app behind a real socket on loopback, in this event loop; gives the URL without a path.

    A client that blocks goes into a thread (``asyncio.to_thread``).
    """
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        await server.startup([listening])
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:  # as ``serve`` does after a signal, but that it waits for its clock twice
            for each in server.servers:
                each.close()
            for connection in list(server.server_state.connections):
                connection.shutdown()
            while server.server_state.connections or server.server_state.tasks:
                await asyncio.sleep(0)
