"""``localspec serve-web``: what is refused before anybody opens a tab."""

from __future__ import annotations

import socket
import sys

import pytest

from localspec.base.extras import install_extra
from tests.cli.conftest import Localspec


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--plain"], "--plain chats in lines"),
        (["--json"], "--json chats in lines"),
        (["--pair", "nonsense"], "no pair"),
        (["--nonsense"], "--nonsense"),
        (["--tabs", "0"], "--tabs"),
        (["--port", "70000"], "--port"),
    ],
)
def test_what_the_chat_would_refuse_is_refused_at_once(localspec: Localspec, arguments: list[str], what: str) -> None:
    """With a sentence, and no server."""
    done = localspec("serve-web", *arguments)
    assert done.code in (2, 4)
    assert what.lower() in done.err.lower()


def test_a_taken_port_is_refused(localspec: Localspec) -> None:
    """And another proposed."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = localspec("serve-web", "--port", str(taken.getsockname()[1]))
    assert done.code == 2
    assert "Choose another --port" in done.err


def test_without_the_extra_a_sentence_says_how_to_get_it(localspec: Localspec, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a command for this Python that names no project of our name at an index."""
    for name in [name for name in sys.modules if name.startswith(("localspec.web.server", "textual_serve"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "textual_serve", None)
    done = localspec("serve-web")
    assert done.code == 2
    assert "needs textual_serve" in done.err
    assert install_extra("web") in done.err


@pytest.mark.parametrize("host", ["a..b", f"{'a' * 64}.example"])
def test_a_host_that_cannot_be_one_is_refused_as_one_that_is_not_there(
    localspec: Localspec, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """With the same sentence."""
    done = localspec("serve-web", "--host", host)

    def not_there(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", not_there)
    other = localspec("serve-web", "--host", "nowhere")
    assert done.code == other.code == 2
    assert done.err == other.err.replace("nowhere", host)
    assert "--host" in done.err
