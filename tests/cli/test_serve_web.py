"""``localspec serve-web``: what is refused before anybody opens a tab."""

from __future__ import annotations

import socket

import pytest

from tests.cli.conftest import Localspec

pytest.importorskip("textual_serve")


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
