"""Each thing the Hub can refuse has its own sentence, with the next step."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from localspec.base.errors import DownloadError, LocalSpecError, NotFoundError
from localspec.models.download.choice import choose_file
from localspec.models.download.hub import Hub
from localspec.models.download.refusals import TransientError
from tests.cli.conftest import Localspec
from tests.hub import HubServer, Refuse, Repo
from tests.models.download.support import BIG, World


@pytest.fixture(autouse=True)
def _files(server: HubServer) -> None:
    server.add(BIG, "Big-Q4_K_M.gguf", b"x")


def refusal(world: World, repo: str = BIG, file: str = "Big-Q4_K_M.gguf", **to: str) -> LocalSpecError:
    with pytest.raises(LocalSpecError) as error:
        world.hub.file(world.hub.repository(repo, **to), file)
    assert error.value.message.endswith(".")
    assert error.value.hint
    return error.value


def test_a_missing_repository(world: World) -> None:
    error = refusal(world, "Owner/Nothing")
    assert isinstance(error, NotFoundError)
    assert "no repository Owner/Nothing" in error.message
    assert "HF_TOKEN" in error.hint


def test_a_name_that_is_none(world: World) -> None:
    assert isinstance(refusal(world, "a/b/c"), NotFoundError)


def test_a_missing_file_comes_with_names_that_are_close(world: World) -> None:
    error = refusal(world, file="Big-Q4_K_S.gguf")
    assert isinstance(error, NotFoundError)
    assert error.hint == "Did you mean Big-Q4_K_M.gguf?"


def test_a_missing_revision(world: World) -> None:
    assert "no such revision" in refusal(world, revision="gone").message


@pytest.mark.parametrize("file", ["../x.gguf", "/etc/x.gguf", "a\\..\\b.gguf", ""])
def test_a_name_that_leads_out_of_the_repository(world: World, file: str) -> None:
    assert "is not a valid name" in refusal(world, file=file).message


def test_gated_without_a_token(world: World) -> None:
    world.server.repos[BIG].gated = True
    error = refusal(world)
    assert isinstance(error, DownloadError)
    assert "is gated" in error.message
    assert f"{world.server.endpoint}/{BIG}" in error.hint
    assert "HF_TOKEN" in error.hint


def test_gated_with_a_token_that_has_no_access(world: World) -> None:
    world.server.repos[BIG].gated = True
    world.hub.token = "someone"
    assert "no access" in refusal(world).message


def test_gated_with_access(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.server.repos[BIG].gated = True
    world.server.repos[BIG].token = "mine"
    monkeypatch.setenv("HF_TOKEN", "mine")
    with Hub() as hub:
        world.hub = hub
        (path,) = world.fetch([world.remote(file="Big-Q4_K_M.gguf")])
    assert path.read_bytes() == b"x"
    # The storage has the signature in its address; the token is none of its business.
    assert ["authorization" in headers for headers in world.server.byte_requests()] == [False]


def test_a_token_that_is_not_accepted(world: World) -> None:
    world.hub.token = "bad"
    assert "does not accept the token" in refusal(world).message


@pytest.mark.parametrize("said", ["mine\r\n", " mine ", "\tmi\nne"])
def test_a_token_with_blanks_and_line_breaks_is_cleaned(
    world: World, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """As the Hub's own client cleans it."""
    world.server.repos[BIG].gated = True
    world.server.repos[BIG].token = "mine"
    monkeypatch.setenv("HF_TOKEN", said)
    with Hub() as hub:
        world.hub = hub
        (path,) = world.fetch([world.remote(file="Big-Q4_K_M.gguf")])
    assert path.read_bytes() == b"x"


def test_a_token_of_blanks_alone_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", " \r\n")
    with Hub() as hub:
        assert hub.token is None


@pytest.mark.parametrize("token", ["mi\nne", "mi\x0bne", "mi\u00e4ne"])
def test_a_token_that_cannot_be_sent_is_not_repeated(world: World, token: str) -> None:
    """Neither on the screen nor to the Hub."""
    world.hub.token = token
    error = refusal(world)
    assert "cannot be asked" in error.message
    assert not re.search("mi|ne", error.message)
    assert "token" in error.hint
    assert not isinstance(error, TransientError), "it would be asked again"
    assert world.server.requests == []


def test_a_header_that_cannot_be_sent_is_not_repeated(world: World) -> None:
    """On the way, too: once, and without a second try."""
    world.server.repos[BIG].plain = True  # or the token would not be sent to where the bytes are
    remote = world.remote(file="Big-Q4_K_M.gguf")
    world.hub.token = "mi\nne"
    with pytest.raises(DownloadError, match="cannot be asked") as error:
        world.fetch([remote])
    assert not re.search("mi|ne", error.value.message)
    assert world.waits == []


def test_a_renamed_repository_is_found_under_its_old_name(world: World) -> None:
    world.server.repos["Owner/Old-GGUF"] = Repo(moved_to=BIG)
    repository = world.hub.repository("Owner/Old-GGUF")
    assert repository.renamed
    assert repository.current_name == BIG
    assert world.hub.file(repository, "Big-Q4_K_M.gguf").repo == "Owner/Old-GGUF"


def test_too_many_requests(world: World) -> None:
    world.server.api_faults = [Refuse(429, retry_after="30")]
    error = refusal(world)
    assert "too many requests" in error.message
    assert "30 seconds" in error.hint


def test_a_hub_that_is_down(world: World) -> None:
    world.server.api_faults = [Refuse(503)]
    assert "cannot answer now" in refusal(world).message


def test_offline(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with Hub() as hub:
        world.hub = hub
        assert "HF_HUB_OFFLINE" in refusal(world).message
    assert world.server.requests == []


def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_nobody_there(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed_port()}")
    with Hub() as hub:
        world.hub = hub
        error = refusal(world)
    assert error.message.endswith(" cannot be reached: nothing answers there.")
    assert "HTTPS_PROXY" in error.hint
    assert "kept" not in error.hint, "nothing has arrived"


def test_a_network_that_wants_a_sign_in(world: World) -> None:
    world.server.portal = True
    assert "does not answer like the Hub" in refusal(world).message


@pytest.mark.parametrize("commit", ["elsewhere", "main"])
def test_a_commit_that_is_none_never_becomes_a_folder(world: World, commit: str) -> None:
    world.server.repos[BIG].commit = commit
    assert "does not answer like the Hub" in refusal(world).message


def test_an_endpoint_without_checksums(world: World) -> None:
    world.server.repos[BIG].files["Big-Q4_K_M.gguf"].sha256 = "not-one"
    assert "checksum" in refusal(world).message


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:99999", "http://[::1", "http://127.0.0.1:abc", "http://", "http:///x", "nonsense"]
)
def test_an_endpoint_that_is_no_address(localspec: Localspec, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    done = localspec("pairs", "check", f"{BIG}:Q4_K_M", f"{BIG}:Q4_K_M")
    assert done.code == DownloadError.exit_code
    assert "is not an address. Set HF_ENDPOINT" in done.err


def test_an_endpoint_that_is_no_address_breaks_no_import() -> None:
    """The Hub's client reads the variable when it is imported."""
    command = [sys.executable, "-m", "localspec", "pairs", "check", "Owner/A:Q4_0", "Owner/B:Q4_0"]
    environment = os.environ | {"HF_ENDPOINT": "http://127.0.0.1:99999"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == DownloadError.exit_code
    assert done.stderr == (
        "localspec: http://127.0.0.1:99999 is not an address. Set HF_ENDPOINT to one that begins with https://.\n"
    )


@pytest.mark.parametrize("address", ["http://[::1", "http://127.0.0.1:99999/x", "ftp://127.0.0.1/x"])
def test_a_file_at_no_address(world: World, address: str) -> None:
    world.server.resolved = {"Location": address}
    assert "does not answer like the Hub" in refusal(world).message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
SIBLINGS = st.lists(JSON | st.fixed_dictionaries({"rfilename": JSON}, optional={"size": JSON}), max_size=3) | JSON
INFOS = st.fixed_dictionaries({}, optional={"id": JSON, "sha": JSON, "siblings": SIBLINGS, "gated": JSON}) | JSON


@given(INFOS)
@example({"id": 17, "siblings": [{"rfilename": "Big-Q4_K_M.gguf"}]})
@example({"siblings": [{"rfilename": 5}]})
@example({"siblings": [{"rfilename": "Big-Q4_K_M.gguf", "size": "many"}]})
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
def test_whatever_the_api_says_of_a_repository_is_used_or_refused(world: World, info: object) -> None:
    world.server.api_body = json.dumps(info).encode()
    with suppress(LocalSpecError):
        repository = world.hub.repository(BIG)
        assert repository.renamed in (True, False)
        choose_file(repository, None)


def test_an_answer_that_is_nested_beyond_reason(world: World) -> None:
    world.server.api_body = b"[" * 100_000
    assert "does not answer like the Hub" in refusal(world).message


@pytest.mark.parametrize("size_text", ["-5", "many", "1e3", ""])
def test_a_size_that_is_none(world: World, size_text: str) -> None:
    world.server.resolved = {"X-Linked-Size": size_text}
    assert isinstance(refusal(world), DownloadError)


def test_a_repository_without_a_model(world: World) -> None:
    world.server.add("Owner/Texts", "README.md", b"x")
    with pytest.raises(NotFoundError) as error:
        choose_file(world.hub.repository("Owner/Texts"), None)
    assert error.value.message == "Owner/Texts has no model."
