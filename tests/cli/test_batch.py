"""``localspec batch``: results beside the requests, gone on with after whatever ended it, and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from localspec.base.errors import ModelFileError
from localspec.cli.services import Services
from localspec.server.app import make_app
from localspec.server.batch import run
from localspec.server.engines import Engines
from localspec.server.openai.options import MOST_REPLIES
from localspec.server.service import Service
from tests.cli.support import Done, run_command
from tests.tiny_embedders import WIDTH, write_embedder

Batch = Callable[..., Done]
PATIENCE_S = 120.0


@pytest.fixture
def batch(own_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Runs the command over an API that repeats what it is told, refuses "no" and is interrupted by "stop"."""

    async def echo(request: Request) -> Response:
        body = await request.json()
        text = body["text"]
        if text == "stop":
            raise KeyboardInterrupt
        said = {"said": text, "model": body.get("model"), "usage": {"output_tokens": 1_000}}
        return JSONResponse(said, 400 if text == "no" else 200)

    def app(service: Service, routes: Sequence[BaseRoute]) -> ASGIApp:
        return make_app(service, routes=[Route("/v1/echo", echo, methods=["POST"]), *routes])

    class Loaded(Engines):
        async def info(self, model: str) -> Any:
            """Nothing is loaded."""

    monkeypatch.setattr(run, "make_app", app)
    monkeypatch.setattr(run, "Engines", Loaded)

    def command(*arguments: str | Path) -> Done:
        return run_command("batch", *arguments, services=Services(), capsys=capsys, monkeypatch=monkeypatch)

    return command


def requests(path: Path, texts: Sequence[str]) -> Path:
    lines = (
        {"custom_id": f"r{i}", "method": "POST", "url": "/v1/echo", "body": {"text": text}}
        for i, text in enumerate(texts)
    )
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def results(path: Path) -> dict[str, Any]:
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert len({each["custom_id"] for each in found}) == len(found)
    return {each["custom_id"]: each["response"]["body"]["said"] for each in found}


def test_results_stand_beside_the_requests(batch: Batch, tmp_path: Path) -> None:
    """Nothing on standard output, a sentence at the end; doing it again does nothing."""
    file = requests(tmp_path / "in.jsonl", ["a", "b"])
    done = batch(file)
    assert (done.code, done.out) == (0, "")
    assert "2 of 2 requests done, 2,000 tokens in" in done.err
    out = tmp_path / "in.results.jsonl"
    assert str(out) in done.err
    assert results(out) == {"r0": "a", "r1": "b"}
    before = out.read_bytes()
    again = batch(file)
    assert again.code == 0
    assert "2 of 2 requests done before" in again.err
    assert out.read_bytes() == before


def test_failed_requests_have_an_exit_code(batch: Batch, tmp_path: Path) -> None:
    """The others are answered; going on with the file says it again."""
    file, out = requests(tmp_path / "in.jsonl", ["a", "no", "b"]), tmp_path / "out.jsonl"
    for _ in range(2):
        done = batch(file, "--out", out, "--in-order", "--parallel", "2")
        assert done.code == 15
        assert "1 of 3 requests failed" in done.err
        assert "the rest follows" not in done.err
        assert list(results(out)) == ["r0", "r1", "r2"]


def test_an_interrupted_batch_is_gone_on_with(batch: Batch, tmp_path: Path) -> None:
    file, out = requests(tmp_path / "in.jsonl", ["a", "stop", "b"]), tmp_path / "out.jsonl"
    done = batch(file, "--out", out, "--parallel", "1")
    assert done.code == 130
    assert "Stopped with 1 of 3 requests done; the same command goes on" in done.err
    requests(file, ["a", "c", "b"])
    done = batch(file, "--out", out)
    assert done.code == 0
    assert "1 of 3 requests done before; the rest follows" in done.err
    assert results(out) == {"r0": "a", "r1": "c", "r2": "b"}


def test_a_pair_that_is_named_answers_all(batch: Batch, tmp_path: Path) -> None:
    """A file for another service names models that nobody has here."""
    file, out = requests(tmp_path / "in.jsonl", ["a"]), tmp_path / "out.jsonl"
    file.write_text(file.read_text().replace('"text"', '"model": "gpt-5", "text"'))
    for options, model in (((), "gpt-5"), (("--pair", "builtin"), None)):
        assert batch(file, "--out", out, *options).code == 0
        assert json.loads(out.read_text())["response"]["body"]["model"] == model
        out.unlink()


def test_embeddings_are_made_of_the_model_that_is_named(
    batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside a pair that answers all other requests, which need not be loaded for them."""

    class Unloadable(Engines):
        async def info(self, model: str) -> Any:
            raise ModelFileError("It is damaged.")

    monkeypatch.setattr(run, "Engines", Unloadable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LLAMA_CACHE", str(tmp_path))
    for name in ("other", "small"):
        write_embedder(tmp_path / f"{name}.gguf", name=name)
    line = {"custom_id": "r0", "method": "POST", "url": "/v1/embeddings", "body": {"input": "car", "model": "small"}}
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    file.write_text(json.dumps(line))
    assert batch(file, "--out", out, "--pair", "builtin").code == 0
    body = json.loads(out.read_text())["response"]["body"]
    assert (body["model"], len(body["data"][0]["embedding"])) == ("small", WIDTH)


def test_what_cannot_be_done_is_refused_before_anything_is_loaded(batch: Batch, tmp_path: Path) -> None:
    """A missing or empty file, a folder, results over the requests, and a file of something else."""
    file = requests(tmp_path / "in.jsonl", ["a"])
    (tmp_path / "notes.txt").write_text("dear diary")
    assert batch(tmp_path / "none.jsonl").code == 4
    assert [batch(requests(tmp_path / "empty.jsonl", [])).code, batch(tmp_path).code] == [3, 3]
    assert batch(file, "--out", file).code == 2
    assert batch(file, "--out", tmp_path / "notes.txt").code == 2
    assert (tmp_path / "notes.txt").read_text() == "dear diary"
    assert batch(file, "--out", tmp_path / "none" / "out.jsonl").code == 13


@pytest.mark.parametrize(
    "option", [("--system", "Be brief."), ("--tool", "get_time"), ("--connect", "http://127.0.0.1:8484")]
)
def test_options_of_chats_are_refused(batch: Batch, tmp_path: Path, option: tuple[str, str]) -> None:
    """And are not in the help: a request brings its own system prompt and tools."""
    done = batch(requests(tmp_path / "in.jsonl", ["a"]), *option)
    assert (done.code, option[0] in done.err) == (2, True)
    assert not (tmp_path / "in.results.jsonl").exists()
    assert option[0] not in batch("--help").out


def test_a_request_for_many_replies_is_answered_whatever_is_made_at_once(
    batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first try: a batch never asks for more than may wait."""
    monkeypatch.setattr(run, "Engines", partial(Engines, opener="tests.server.crowded_engine:open_pair"))
    monkeypatch.setattr(run, "_RETRIES_N", 1)
    line = {"method": "POST", "url": "/v1/completions", "body": {"prompt": "count 3", "n": MOST_REPLIES}}
    file, out, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "own.gguf"
    file.write_text("".join(f"{json.dumps({'custom_id': name, **line})}\n" for name in ("r0", "r1")))
    target.touch()
    for parallel in ("1", "2"):
        assert batch(file, "--out", out, "--target", target, "--parallel", parallel).code == 0
        for each in out.read_text().splitlines():
            assert len(json.loads(each)["response"]["body"]["choices"]) == MOST_REPLIES
        out.unlink()


def test_a_killed_batch_of_the_builtin_pair_is_gone_on_with(own_home: Path, tmp_path: Path) -> None:
    """Killed in the middle, with no chance to end anything: every request has one whole answer in the end."""
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    body = {"messages": [{"role": "user", "content": "Tell me a story about a fox."}], "max_tokens": 40}
    line = {"method": "POST", "url": "/v1/chat/completions", "body": body}
    file.write_text("".join(f"{json.dumps({'custom_id': f'r{i}', **line})}\n" for i in range(12)))
    command = [sys.executable, "-m", "localspec", "batch", str(file), "--out", str(out), "--parallel", "2"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE_S
    while not (out.exists() and out.read_bytes().count(b"\n") >= 2):
        assert time.monotonic() < deadline
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
            raise AssertionError("it has ended")
    process.kill()
    process.wait()
    kept = out.read_bytes()
    kept = kept[: kept.rfind(b"\n") + 1]
    assert kept.count(b"\n") < 12
    out.write_bytes(kept + b'{"id": "batch_req_7", "custom')
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True, timeout=PATIENCE_S)
    assert "12 of 12 requests done" in done.stderr
    assert out.read_bytes().startswith(kept)
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted(each["custom_id"] for each in found) == sorted(f"r{i}" for i in range(12))
    for each in found:
        assert each["response"]["status_code"] == 200
        assert each["response"]["body"]["choices"][0]["message"]["content"]


@pytest.mark.parametrize("path", [".", "/"])
def test_a_folder_is_no_file_of_requests(batch: Batch, path: str) -> None:
    """Though it has no name to call a file of results by."""
    assert (batch(path).code, batch(path).err) == (
        3,
        f"localspec: {path} is no file. Name a file with a request a line.\n",
    )
