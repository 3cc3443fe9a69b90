"""Batches: every line has one result, through the app, in order or not, and a run that was cut off is gone on with."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Response as Answer
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from localspec.base.errors import (
    EngineError,
    InputError,
    ModelFileError,
    NotFoundError,
    OutputError,
    UsageError,
)
from localspec.server.app import make_app
from localspec.server.batch.requests import BatchRequest, Line, WrongLine, read_batch
from localspec.server.batch.results import BatchResult, ResultsFile
from localspec.server.batch.run import BatchRun, pause_s
from localspec.server.service import BusyError
from tests.server.fakes import ELSEWHERE, FakeService


def asked(custom_id: str, **body: Any) -> str:
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": "/v1/echo", "body": body})


def written(path: Path, *lines: str | bytes) -> Path:
    path.write_bytes(b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines))
    return path


class Echo:
    """An API whose answers come when their turn is: ``turns`` names the texts in the order of their answers."""

    def __init__(self, turns: Sequence[str] = ()) -> None:
        self.turns = list(turns)
        self.begun: list[str] = []
        self.most_at_once = self._at_once = 0
        self._changed = asyncio.Condition()

    async def answer(self, request: Request) -> Response:
        body = await request.json()
        text = body["text"]
        self.begun.append(text)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        async with self._changed:
            await self._changed.wait_for(lambda: text not in self.turns or self.turns[0] == text)
            if self.turns and text in self.turns:
                self.turns.pop(0)
            self._changed.notify_all()
        self._at_once -= 1
        match text:
            case "bug":
                raise RuntimeError("a bug")
            case "plain":
                return PlainTextResponse("no JSON")
            case "busy" if self.begun.count("busy") < 3:
                raise BusyError("Too much.")
            case "unlucky" if self.begun.count("unlucky") < 2:
                raise EngineError("The engine died.")
            case "unknown":
                raise NotFoundError("No such pair.")
        return JSONResponse({"said": text, "usage": {"completion_tokens": 5}})


def batch(echo: Echo, *, parallel: int = 1, in_order: bool = False, service: FakeService | None = None) -> BatchRun:
    service = service or FakeService()
    app = make_app(service, routes=[Route("/v1/echo", echo.answer, methods=["POST"])])
    return BatchRun(service, app, parallel, in_order)


def run(batch: BatchRun, lines: Sequence[Line], stop_after: int | None = None) -> list[BatchResult]:
    async def results() -> list[BatchResult]:
        found = []
        async with aclosing(batch.results(lines)) as coming:
            async for result in coming:
                found.append(result)
                if len(found) == stop_after:
                    break
        return found

    return asyncio.run(results())


def lines_of(*texts: str) -> list[Line]:
    return [BatchRequest(i, f"r{i}", "/v1/echo", {"text": text}) for i, text in enumerate(texts, 1)]


def data_of(result: BatchResult) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(result.encoded())
    return data


def test_a_url_may_have_a_slash_at_its_end() -> None:
    echo = Echo()
    (result,) = run(batch(echo), [BatchRequest(1, "r1", "/v1/echo/", {"text": "x"})])
    assert (result.status, result.body["said"]) == (200, "x")


def test_lines_are_read_and_wrong_ones_are_named(tmp_path: Path) -> None:
    """By OpenAI's codes; nothing that a line says ends the batch, and empty lines are none."""
    many = '{"a":' * 100_000
    path = written(
        tmp_path / "in.jsonl",
        asked("a", text="x"),
        "",
        "{",
        many,
        "[]",
        b"\xff",
        json.dumps({"method": "POST"}),
        asked("a"),
        asked("b").replace("POST", "GET"),
        asked("c").replace("/v1/echo", "https://api.openai.com/v1/echo"),
        asked("d").replace("{}", "3"),
        asked("e", stream=True),
        "  ",
        asked("f", model="small"),
        asked("g").replace("/v1/echo", "/v1/\\n"),
        asked("h").replace("/v1/echo", "/v1/" + "a" * 70_000),
        asked("i").replace("/v1/echo", "/v1/../health"),
    )
    lines = list(read_batch(path))
    assert lines[0] == BatchRequest(1, "a", "/v1/echo", {"text": "x"})
    assert isinstance(lines[-4], BatchRequest)
    assert (lines[-4].number, lines[-4].model) == (14, "small")
    assert [(line.number, line.code) for line in lines if isinstance(line, WrongLine)] == [
        (3, "invalid_json_line"),
        (4, "invalid_json_line"),
        (5, "invalid_json_line"),
        (6, "invalid_json_line"),
        (7, "missing_custom_id"),
        (8, "duplicate_custom_id"),
        (9, "invalid_method"),
        (10, "invalid_url"),
        (11, "invalid_request"),
        (12, "invalid_request"),
        (15, "invalid_url"),
        (16, "invalid_url"),
        (17, "invalid_url"),
    ]
    with pytest.raises(NotFoundError):
        list(read_batch(tmp_path / "none.jsonl"))


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """The requests are read twice."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("-")):
        with pytest.raises(InputError, match="read twice"):
            list(read_batch(path))


def test_every_line_has_a_result_in_openais_form(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Answers, refusals, logged bugs, wrong lines; what met no room, or an engine that died, is asked again."""
    monkeypatch.setattr("localspec.server.batch.run.RETRY_S", 0.0)
    monkeypatch.setattr("localspec.server.batch.run.logger", logging.getLogger("batch"))
    wrong = WrongLine(7, None, "invalid_json_line", "The line is no JSON.")
    texts = ("hello", "bug", "plain", "unknown", "busy", "unlucky")
    results = run(batch(Echo()), [*lines_of(*texts), wrong])
    first = data_of(results[0])
    body = {"said": "hello", "usage": {"completion_tokens": 5}}
    response = {"status_code": 200, "request_id": "req_1", "body": body}
    assert first == {"id": "batch_req_1", "custom_id": "r1", "response": response, "error": None}
    assert "RuntimeError: a bug" in caplog.text
    assert [result.status for result in results] == [200, 500, 200, 404, 200, 200, None]
    assert [result.tokens_n for result in results] == [5, 0, 0, 0, 5, 5, 0]
    assert results[2].body == "no JSON"
    assert "error" in results[3].body
    last = data_of(results[6])
    assert (last["custom_id"], last["response"]) == (None, None)
    assert last["error"] == {"code": "invalid_json_line", "message": "Line 7: The line is no JSON."}


def test_a_request_that_meets_no_room_is_sent_again_when_the_answer_says() -> None:
    """Replies of a large pair may take minutes, and no other pair is loaded before they have ended."""
    assert pause_s(Answer(503, headers={"Retry-After": "120"})) == 120
    assert pause_s(Answer(503)) == 1


@pytest.mark.parametrize("in_order", [True, False])
def test_results_come_in_order_or_as_they_are_done(in_order: bool) -> None:
    """And never more of them at once than were asked for."""
    echo = Echo(turns=["c", "b", "e", "a"])
    results = run(batch(echo, parallel=3, in_order=in_order), lines_of("a", "b", "c", "d", "e"))
    said = [result.body["said"] for result in results]
    assert sorted(said) == ["a", "b", "c", "d", "e"]
    assert (said[0] == "a") == (said == ["a", "b", "c", "d", "e"]) == in_order
    assert echo.most_at_once == 3


def test_a_body_that_no_answer_could_repeat_has_an_error_of_its_own() -> None:
    """A half of a surrogate pair, and a number without bounds, which JSON can name."""
    bodies: tuple[dict[str, Any], ...] = ({"input": "\ud800"}, {"input": "Hello", "metadata": {"a": math.inf}})
    lines: list[Line] = [BatchRequest(i, f"r{i}", "/v1/responses", body) for i, body in enumerate(bodies, 1)]
    assert [result.status for result in run(batch(Echo()), [*lines, *lines_of("hello")])] == [400, 400, 200]


def test_where_the_first_takes_long_others_do_not_run_far_ahead() -> None:
    """In order, results that wait for their turn are bounded, however long the file."""
    texts = [str(i) for i in range(40)]
    echo = Echo(turns=["15", "0"])
    assert len(run(batch(echo, parallel=2, in_order=True), lines_of(*texts))) == 40
    assert echo.begun.index("15") == 15


def test_a_pair_that_cannot_be_loaded_ends_the_batch() -> None:
    """Instead of ten thousand results that all say so; whatever was under way is ended, and no task is left."""

    class Unloadable(FakeService):
        async def info(self, model: str) -> Any:
            raise ModelFileError("It is damaged.")

    with pytest.raises(ModelFileError):
        run(batch(Echo(), parallel=2, service=Unloadable()), lines_of("a", "b", "c"))
    unknown = BatchRequest(1, "a", "/v1/echo", {"text": "unknown", "model": ELSEWHERE})
    (result,) = run(batch(Echo(), service=Unloadable()), [unknown])
    assert result.status == 404


def test_a_run_that_was_cut_off_is_gone_on_with(tmp_path: Path) -> None:
    """Wherever it was cut: whole lines stay byte by byte, a torn one is cut off and done again."""
    path = tmp_path / "out.jsonl"
    lines = [*lines_of("a", "bug", "c"), WrongLine(4, None, "invalid_json_line", "No.")]
    ids = {line.number: line.custom_id for line in lines}
    whole = b"".join(result.encoded() for result in run(batch(Echo()), lines))
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        with ResultsFile.opened(path, ids) as results:
            assert len(results.done) == whole[:cut].count(b"\n")
            assert path.read_bytes() == whole[: whole.rfind(b"\n", 0, cut) + 1]
    with ResultsFile.opened(path, ids) as results:
        assert (results.done, results.failed_n) == ({1, 2, 3, 4}, 2)
    path.unlink()
    with ResultsFile.opened(path, ids) as results:
        for result in run(batch(Echo()), lines, stop_after=2):
            results.add(result)
    with ResultsFile.opened(path, ids) as results:
        for result in run(batch(Echo()), [line for line in lines if line.number not in results.done]):
            results.add(result)
    assert path.read_bytes() == whole


def test_lines_that_were_taken_out_are_done_again(tmp_path: Path) -> None:
    """An editor may leave an empty line in their place."""
    path = tmp_path / "out.jsonl"
    ids = {line.number: line.custom_id for line in lines_of("a", "b", "c")}
    first, _, last = (result.encoded() for result in run(batch(Echo()), lines_of("a", "b", "c")))
    path.write_bytes(first + b"\r\n" + last + b"\n")
    with ResultsFile.opened(path, ids) as results:
        assert results.done == {1, 3}


@pytest.mark.parametrize(
    "content", [b"hello", b"hello\n", b"{}\n", b'{"id": "x"}\n', b'{"id": "batch_req_9", "custom_id": "r9"}\n']
)
def test_a_file_with_something_else_is_left_alone(tmp_path: Path, content: bytes) -> None:
    """So are the results of another batch."""
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="something else"), ResultsFile.opened(path, {1: "r1"}):
        pass
    assert path.read_bytes() == content


@pytest.mark.parametrize("place", ["-", "/dev/null", "."])
def test_results_go_to_a_file(place: str) -> None:
    """They are read first, which would have no end in a device."""
    with pytest.raises(UsageError, match="to a file"), ResultsFile.opened(Path(place), {}):
        pass


def test_a_disk_that_becomes_full_is_told(tmp_path: Path) -> None:
    """Once, and as what it is; what was written before it is gone on with."""
    resource = pytest.importorskip("resource")
    path, kind, lines = tmp_path / "out.jsonl", resource.RLIMIT_FSIZE, lines_of("a", "b")
    ids = {line.number: line.custom_id for line in lines}
    limits = resource.getrlimit(kind)

    def write() -> None:
        with ResultsFile.opened(path, ids) as results:
            results.add(BatchResult(lines[0], 200, "x"))
            resource.setrlimit(kind, (path.stat().st_size + 9, limits[1]))
            results.add(BatchResult(lines[1], 200, "x"))

    try:
        with pytest.raises(OutputError, match="larger than is allowed"):
            write()
    finally:
        resource.setrlimit(kind, limits)
    with ResultsFile.opened(path, ids) as results:
        assert results.done == {1}


def test_one_process_writes_results_at_a_time(tmp_path: Path) -> None:
    """A file that cannot be written is an error with a sentence."""
    path = tmp_path / "out.jsonl"
    with (
        ResultsFile.opened(path, {}),
        pytest.raises(UsageError, match="Another process"),
        ResultsFile.opened(path, {}),
    ):
        pass
    with pytest.raises(OutputError), ResultsFile.opened(tmp_path / "none" / "out.jsonl", {}):
        pass
