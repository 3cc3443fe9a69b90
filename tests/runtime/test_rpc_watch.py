"""Connections to RPC servers are watched: llama.cpp would wait for an answer for ever, and say nothing."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec.base.child_exit import RPC_SILENT, ending_error
from localspec.base.errors import EngineError
from localspec.runtime import rpc_watch
from localspec.runtime.rpc_watch import SILENT_S, RpcWatch

ABORTED = -signal.SIGABRT
NOW_S = 1000.0


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    """A connection as llama.cpp has one, whose server has accepted it."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as connection,
        server.accept()[0],
    ):
        yield connection


class Watched:
    """A watch, and what it did."""

    def __init__(self, port: int) -> None:
        self.said: list[str] = []
        self.ended: list[str] = []
        self.since_s: float | None = NOW_S - 2 * SILENT_S
        self.abandoned = False
        self.watch = RpcWatch(
            [f"10.0.0.2:{port}"], lambda: self.since_s, lambda: self.abandoned, self.said.append, self.ended.append
        )


@pytest.fixture
def watched(connection: socket.socket, monkeypatch: pytest.MonkeyPatch) -> Watched:
    monkeypatch.setattr(rpc_watch, "_silence_s", lambda connection: SILENT_S + 1)
    return Watched(connection.getpeername()[1])


def test_silence_is_told_while_an_answer_is_waited_for(watched: Watched, connection: socket.socket) -> None:
    watched.watch.look(NOW_S)

    port = connection.getpeername()[1]
    assert watched.said == [f"no answer from the RPC server 10.0.0.2:{port} for 16 s"]
    assert watched.ended == []


def test_a_process_whose_answer_nobody_wants_ends(watched: Watched) -> None:
    watched.abandoned = True
    watched.watch.look(NOW_S)

    assert watched.said == []
    (words,) = watched.ended
    assert words.startswith(RPC_SILENT)


@pytest.mark.parametrize("since_s", [None, NOW_S - SILENT_S + 1])
def test_an_idle_pair_and_fresh_work_may_be_silent(watched: Watched, since_s: float | None) -> None:
    watched.since_s, watched.abandoned = since_s, True
    watched.watch.look(NOW_S)

    assert (watched.said, watched.ended) == ([], [])


def test_a_connection_with_traffic_is_not_silent(connection: socket.socket) -> None:
    """By the kernel's own word, where it tells."""
    connection.sendall(b"?")
    watched = Watched(connection.getpeername()[1])
    watched.since_s = NOW_S
    watched.watch.look(NOW_S)

    assert watched.said == []


def test_work_without_a_connection_waits_for_no_server(watched: Watched) -> None:
    other = Watched(1)
    other.watch.look(NOW_S)

    assert other.said == []


def test_the_kernel_is_had_to_notice_a_machine_that_is_gone(watched: Watched, connection: socket.socket) -> None:
    watched.watch.look(NOW_S)

    assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


@pytest.mark.parametrize(
    ("last_words", "said"),
    [
        ("ggml-rpc.cpp:464: Remote RPC server crashed or returned malformed response", "ended the connection"),
        ("ggml-rpc.cpp:441: Failed to connect to gpu:50052", "cannot be reached"),
        (f"{RPC_SILENT} gpu:50052 for 17 s", "did not answer"),
    ],
)
@pytest.mark.parametrize("loading", [True, False])
def test_the_end_of_the_engine_names_the_server(last_words: str, said: str, loading: bool) -> None:
    """Also while a file is loaded, which is not at fault."""
    error = ending_error(ABORTED, last_words, (Path("big.gguf"),) if loading else (), rpc="gpu:50052")

    assert isinstance(error, EngineError)
    assert "the RPC server gpu:50052" in error.message
    assert said in error.message


def test_without_a_server_an_end_is_explained_as_ever() -> None:
    assert "RPC" not in ending_error(ABORTED, "ggml.c:1: GGML_ASSERT(x) failed").message
    assert "RPC" not in ending_error(ABORTED, "ggml.c:1: GGML_ASSERT(x) failed", rpc="gpu:50052").message
