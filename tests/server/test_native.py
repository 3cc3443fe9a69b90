"""A chat's pair on a LocalSpec elsewhere: both ends over loopback, with a service whose replies are given."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.middleware import Middleware

from localspec.base.errors import EngineError, InputError, LocalSpecError, NotFoundError
from localspec.engine.cancel import Cancellation
from localspec.engine.events import Event, Finished, FinishReason
from localspec.engine.inspection import Candidate, Inspection, Opinion
from localspec.runtime.images import ImageReference, image_block, keep_image
from localspec.runtime.load import InspectablePair, open_pair
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from localspec.runtime.remote import native_pair
from localspec.runtime.worker.codec import decode_request, encode
from localspec.runtime.worker.messages import (
    CountTokens,
    Generate,
    Inspect,
    Inspected,
    Load,
    Request,
    Tokenized,
    Weigh,
    Weighed,
)
from localspec.server import native, streaming
from localspec.server.app import make_app
from localspec.server.fields import MOST_SEPARATORS
from localspec.server.middleware import EndsWithClient
from localspec.server.service import RateLimitError, ServedModel
from tests.server.fakes import INFO, PAIR, FakeService, Step, said, served
from tests.tiny_projectors import write_png

QUESTION = (Message(Role.USER, "Hello?"),)
OPTIONS = ReplyOptions(seed=3, stop=("\n\n",), spec=("draft",), depth=2)


@asynccontextmanager
async def serving(service: FakeService) -> AsyncGenerator[str]:
    async with served(make_app(service, middleware=[Middleware(EndsWithClient)])) as url:
        yield url


def connected(url: str, cancel: Cancellation | None = None, pair: str = "") -> InspectablePair:
    return open_pair(LoadOptions(Path("server"), server=url, server_pair=pair), cancel or Cancellation())


async def used(service: FakeService, use: Callable[[InspectablePair], Any], pair: str = "") -> Any:
    """What ``use`` makes of the pair of this service, in a thread: the client blocks."""

    def work(url: str) -> Any:
        opened = connected(url, pair=pair)
        try:
            return use(opened)
        finally:
            opened.close()

    async with serving(service) as url:
        return await asyncio.to_thread(work, url)


def replied(pair: InspectablePair) -> list[Event]:
    return list(pair.reply(QUESTION, OPTIONS, "So"))


async def test_a_reply_comes_with_every_event_as_the_engine_made_it() -> None:
    """Origins, proposals and figures included; and the request arrives whole."""
    service = FakeService([said("Hello", " there", "!")])
    assert await used(service, replied, PAIR) == said("Hello", " there", "!")
    (asked,) = service.asked
    assert (asked.model, asked.prompt, asked.options, asked.prefix) == (PAIR, QUESTION, OPTIONS, "So")


async def test_the_pair_is_described_without_the_folders_of_its_machine() -> None:
    service = FakeService(pair=replace(INFO, target=Path("/home/me/models/target.gguf")))
    info = (await used(service, lambda pair: pair)).info
    assert (info.target, info.draft, info.n_ctx, info.tells_tokens) == (Path("target.gguf"), INFO.draft, 512, True)
    assert info.server.startswith("LocalSpec ")
    assert " at 127.0.0.1:" in info.server


async def test_the_inspector_and_the_counter_ask_the_server() -> None:
    inspection = Inspection(6, Opinion(0.9, 1, 0.9, (Candidate(6, "a", 0.9),)), None)
    service = FakeService(
        answers=[Inspected(99, inspection), Weighed(98, (0.5, 0.25)), Tokenized(97, (1, 2, 3), (b"a", b"b", b"c"))]
    )

    def ask(pair: InspectablePair) -> Any:
        inspector = pair.inspector
        weighed = inspector.inspect(QUESTION, OPTIONS, (5, 6), 1), inspector.probs(QUESTION, OPTIONS, (5, 6), 0, 2)
        return *weighed, pair.count_tokens("abc")

    assert await used(service, ask) == (inspection, (0.5, 0.25), 3)
    assert [type(each).__name__ for each in service.questions] == ["Inspect", "Weigh", "Tokenize"]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([EngineError("It fell over.", "Get up.")], "It fell over. Get up."),
        ([*said("Hello", " there")[:2], EngineError("It fell over.")], "It fell over."),
        ([RateLimitError("Slowly.", retry_after_s=7)], "in 7 seconds"),
        (said("Hello", " there")[:2], "broke off in the middle"),
        (said("Hello", " there")[1:], "events in another order"),
    ],
)
async def test_a_failure_is_told_as_the_engines_own(steps: Sequence[Step], message: str) -> None:
    """Before the first event and after it; and the next reply is asked for as if nothing had been."""
    service = FakeService([steps, said("Again")])

    def twice(pair: InspectablePair) -> list[Event]:
        with pytest.raises(LocalSpecError) as raised:
            replied(pair)
        assert message in str(raised.value)
        return replied(pair)

    assert await used(service, twice) == said("Again")


async def test_a_pair_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(NotFoundError, match=f"no pair big.*It has: {PAIR}"):
        await used(FakeService(), lambda pair: pair, "big")


async def test_a_server_without_pairs_says_so() -> None:
    class Empty(FakeService):
        def models(self) -> Sequence[ServedModel]:
            return []

    with pytest.raises(NotFoundError, match=r"has no pair\. It has: none\."):
        await used(Empty(), lambda pair: pair)


async def test_escape_ends_the_reply_here_and_there() -> None:
    """Within a tenth of a second, also while the server has nothing to say."""
    service = FakeService([[*said("Hello", " there")[:2], asyncio.Event()]])
    cancel = Cancellation()

    def cancelled(url: str) -> list[Event]:
        pair = connected(url, cancel)
        events = []
        for event in pair.reply(QUESTION, OPTIONS):
            events.append(event)
            if len(events) == 2:
                cancel.set()
        pair.close()
        return events

    async with serving(service) as url:
        events = await asyncio.to_thread(cancelled, url)
        await _until(lambda: service.closed_n == 1)
    assert isinstance(events[-1], Finished)
    assert (events[-1].reason, events[-1].text) == (FinishReason.CANCELLED, "Hello there")


async def test_a_client_that_hangs_up_before_anything_was_said_ends_its_reply() -> None:
    service = FakeService([[asyncio.Event()]])
    async with serving(service) as url, httpx2.AsyncClient() as client:
        asking = asyncio.create_task(client.post(f"{url}/localspec/v1/ask", content=encode(GENERATE)))
        await _until(lambda: len(service.asked) == 1)
        asking.cancel()
        await _until(lambda: service.closed_n == 1)


async def test_a_server_that_works_for_long_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty lines come in between, before the first answer and after it."""
    monkeypatch.setattr(streaming, "HEARTBEAT_S", 0.01)
    first, second = asyncio.Event(), asyncio.Event()
    begun, *rest = said("Hello")
    service = FakeService([[first, begun, second, *rest]])
    async with (
        serving(service) as url,
        httpx2.AsyncClient() as client,
        client.stream("POST", f"{url}/localspec/v1/ask", content=encode(GENERATE)) as response,
    ):
        lines = response.aiter_lines()
        assert await anext(lines) == ""
        first.set()
        while not await anext(lines):
            pass
        assert await anext(lines) == ""
        second.set()
        assert [json.loads(line)["kind"] async for line in lines if line] == ["Emitted"] * len(rest)


GENERATE = Generate(1, QUESTION, OPTIONS)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"kind":"Nothing"}',
        encode(CountTokens("a")),
        encode(Load(LoadOptions(Path("/etc/passwd")))),
        encode(Inspect(1, QUESTION, OPTIONS, (1, 2), 2)),
        encode(Inspect(1, QUESTION, OPTIONS, (1, -5), 0)),
        encode(Inspect(1, QUESTION, OPTIONS, (1, 10_000_000_000), 0)),
        encode(Inspect(1, QUESTION, OPTIONS, (1, INFO.n_vocab), 0)),
        encode(Weigh(1, QUESTION, OPTIONS, (1, 2), 1, 7)),
        encode(replace(GENERATE, options=replace(OPTIONS, stop=("a",) * 129))),
        encode(GENERATE).replace(b'"seed":3', b'"seed":"3"'),
        encode(GENERATE).replace(b'"seed":3', b'"seed":-3'),
        encode(GENERATE).replace(b'"stop":["', b'"stop":[1,"'),
        encode(GENERATE).replace(b'"temperature":0.8', b'"temperature":[]'),
        encode(GENERATE).replace(b'"temperature":0.8', b'"temperature":NaN'),
        encode(GENERATE).replace(b'"top_p":0.95', b'"top_p":95'),
        encode(GENERATE).replace(b'"content":"Hello?"', b'"content":{}'),
        encode(GENERATE).replace(b'"tools":[]', b'"tools":[{"name":"a","description":"b","parameters":"7"}]'),
    ],
    ids=lambda body: body[:40].decode(),
)
async def test_what_is_no_request_is_refused_and_nothing_is_asked(body: bytes) -> None:
    service = FakeService([said("Hello")])
    async with serving(service) as url, httpx2.AsyncClient() as client:
        response = await client.post(f"{url}/localspec/v1/ask", content=body)
    assert response.status_code == 400
    assert response.json()["kind"] == "Failed"
    assert not service.asked
    assert not service.questions


async def test_a_request_is_read_beside_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    """In another thread than theirs; one with more values than any context holds is refused."""
    threads: list[int] = []

    def read(line: bytes) -> Request:
        threads.append(threading.get_ident())
        return decode_request(line)

    monkeypatch.setattr(native, "decode_request", read)
    service = FakeService([said("Hello")])
    async with serving(service) as url, httpx2.AsyncClient() as client:
        response = await client.post(f"{url}/localspec/v1/ask", content=encode(GENERATE))
        refused = await client.post(f"{url}/localspec/v1/ask", content=b"[" * (MOST_SEPARATORS + 1))
    assert (response.status_code, refused.status_code, len(service.asked)) == (200, 413, 1)
    assert refused.json()["exit_code"] == InputError.exit_code  # and no bug inside LocalSpec
    assert [thread != threading.get_ident() for thread in threads] == [True]


async def test_images_go_along_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """To a server with another folder; what is no such image is refused there."""
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "here"))
    cat = keep_image(write_png(tmp_path / "cat.png").read_bytes())
    asked = (Message(Role.USER, image_block("cat.png", cat)), *QUESTION)
    service = FakeService([said("A cat")])

    def twice(pair: InspectablePair) -> None:
        data, real = cat.read(), ImageReference.read
        first = iter([data])  # the client's; the server's own look finds nothing
        monkeypatch.setattr(ImageReference, "read", lambda image: next(first, None) or real(image))
        monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path / "there"))
        list(pair.reply(asked, OPTIONS))
        assert cat.path.read_bytes() == data
        cat.path.unlink()
        list(pair.reply(asked, OPTIONS))
        assert not cat.path.exists()

    await used(service, twice)
    assert [each.prompt for each in service.asked] == [asked, asked]
    async with serving(service) as url, httpx2.AsyncClient() as client:
        assert (await client.post(f"{url}/localspec/v1/images", content=b"\x89PNG")).status_code == 400


@pytest.mark.parametrize(("resent_s", "sent_n"), [(3600.0, 1), (-1.0, 2)])
async def test_an_image_goes_along_again_before_the_server_forgets_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, resent_s: float, sent_n: int
) -> None:
    monkeypatch.setattr(native_pair, "_IMAGE_S", resent_s)
    sent: list[bytes] = []

    def keep(png: bytes) -> ImageReference:
        sent.append(png)
        return keep_image(png)

    monkeypatch.setattr(native, "keep_image", keep)
    cat = keep_image(write_png(tmp_path / "cat.png").read_bytes())
    asked = (Message(Role.USER, image_block("cat.png", cat)),)
    await used(FakeService([said("A cat")]), lambda pair: [list(pair.reply(asked, OPTIONS)) for _ in range(2)])
    assert len(sent) == sent_n


async def _until(true: Callable[[], bool] | Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.005)
