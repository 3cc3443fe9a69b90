"""The app of the server: errors as answers, whoever raises them."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from localspec.base.errors import (
    ALL_ERRORS,
    CapacityError,
    EngineError,
    LocalSpecError,
    NotFoundError,
    ReplyStoppedError,
    UsageError,
)
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.remote.protocol import ASK
from localspec.runtime.worker.codec import encode
from localspec.runtime.worker.messages import Generate
from localspec.server.app import make_app
from localspec.server.failures import STATUSES, InvalidFieldError, sentence_of, status_of
from localspec.server.service import BusyError, RateLimitError
from tests.server.fakes import FakeService, said, served


@pytest.mark.parametrize(
    ("error", "status", "expected"),
    [
        (InvalidFieldError("n is no number.", param="n"), 400, ("invalid_request_error", "n", None)),
        (CapacityError("It is too long."), 400, ("invalid_request_error", None, "context_length_exceeded")),
        (NotFoundError("There is no such pair."), 404, ("invalid_request_error", None, "model_not_found")),
        (RateLimitError("Too much."), 429, ("rate_limit_error", None, "rate_limit_exceeded")),
        (BusyError("Full.", retry_after_s=2.4), 503, ("server_error", None, "server_busy")),
        (EngineError("The engine stopped.", "Try again."), 500, ("server_error", None, None)),
    ],
)
async def test_an_error_is_a_status_and_a_sentence(
    error: LocalSpecError, status: int, expected: tuple[str, str | None, str | None]
) -> None:
    async def fail(request: Request) -> Response:
        raise error

    async with served(make_app(FakeService(), routes=[Route("/fail", fail)])) as url, httpx2.AsyncClient() as client:
        answer = await client.get(f"{url}/fail")
    assert answer.status_code == status
    told = answer.json()["error"]
    assert told["message"] == str(error)
    assert (told["type"], told["param"], told["code"]) == expected
    assert answer.headers.get("retry-after") == {503: "3", 429: "1"}.get(status)


async def test_unknown_paths_wrong_methods_and_bugs_are_sentences_too() -> None:
    async def break_down(request: Request) -> Response:
        raise ZeroDivisionError

    app = make_app(FakeService(), routes=[Route("/bug", break_down)])
    async with served(app) as url, httpx2.AsyncClient() as client:
        answers = [await client.get(url + "/nowhere"), await client.post(url + "/bug"), await client.get(url + "/bug")]
    assert [answer.status_code for answer in answers] == [404, 405, 500]
    assert [answer.json()["error"]["message"] for answer in answers] == [
        "There is nothing at /nowhere.",
        "/bug does not take POST.",
        "Something went wrong inside LocalSpec. The server's log has the details.",
    ]
    assert set(answers[1].headers["allow"].split(", ")) == {"GET", "HEAD"}


def test_a_request_has_fields_where_the_command_line_has_options() -> None:
    told = sentence_of(UsageError("--logit-bias names token 9.", "Add --xtc-probability."))
    assert told == "logit_bias names token 9. Add xtc_probability."
    assert sentence_of(CapacityError("Too long.", "Start it with --ctx 300.")) == "Too long. Start it with --ctx 300."


@pytest.mark.parametrize("kind", [UsageError, InvalidFieldError, ReplyStoppedError])
def test_what_clients_and_the_owners_check_said_is_told_whole_and_not_logged(
    kind: type[LocalSpecError], caplog: pytest.LogCaptureFixture
) -> None:
    """A path in it is none of this machine."""
    assert sentence_of(kind("It names /home/of/theirs.")) == "It names /home/of/theirs."
    assert caplog.text == ""


def test_a_name_from_a_client_cannot_imitate_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """It may have a path in it, which is why it is logged at all."""
    sentence_of(NotFoundError("There is no pair named a\n2026-01-01 ERROR: /etc/b\x1b[31m."))
    assert [record.getMessage().count("\n") for record in caplog.records] == [0]
    assert "\x1b" not in caplog.text


def test_every_error_has_a_status() -> None:
    """Those that are not in the table are the server's own."""
    own = {kind.__name__ for kind in ALL_ERRORS if status_of(kind("It failed.")) == 500}
    assert own == {
        *("LocalSpecError", "ModelFileError", "PairMismatchError", "EngineError", "ConfigError"),
        *("DownloadError", "StoreError", "CheckFailedError", "OutputError", "RequestsFailedError"),
    }
    assert set(STATUSES) >= {BusyError, RateLimitError}


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"stream": True, "messages": [{"role": "user", "content": "Hello"}]}),
        ("/v1/messages", {"stream": True, "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}),
        ("/api/chat", {"messages": [{"role": "user", "content": "Hello"}]}),
        (ASK, json.loads(encode(Generate(1, (), ReplyOptions())))),
    ],
)
async def test_clients_read_names_of_files_and_the_log_their_folders(
    path: str, body: dict[str, Any], begun: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """In every API, before an answer has begun and in the middle of it."""
    failure = NotFoundError("There is no file /srv/secret/My Models/a.gguf.", "See /var/log/b.log; GET /v1/models.")
    reply = [*said("Hello", " there")[:2], failure] if begun else [failure]
    async with served(make_app(FakeService([reply]))) as url, httpx2.AsyncClient() as client:
        told = (await client.post(url + path, json=body)).text
    assert "/srv" not in told
    assert "/var" not in told
    for words in ("There is no file My Models/a.gguf.", "See b.log; GET /v1/models."):
        assert words in told
    assert "/srv/secret/My Models/a.gguf" in caplog.text
