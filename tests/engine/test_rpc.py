"""RPC servers are greeted before llama.cpp meets them, which would abort or wait for ever."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from localspec.base.errors import CapacityError, EngineError
from localspec.engine.backends.llama.rpc import PROTOCOL, addresses_of, greet, remote_devices

GREETING = struct.pack("<BQ24x", 14, 24)
MOST_S = 0.3
"""The patience of these tests; nothing is asserted about time."""


def version(major: int, minor: int) -> bytes:
    return struct.pack("<QBBBx24x", 28, major, minor, 0)


@pytest.fixture
def serve() -> Iterator[Callable[[bytes | None], str]]:
    """Starts a server that takes one connection at a time, as rpc-server does; None is silence. Gives its address."""
    with ExitStack() as stack:

        def start(answer: bytes | None) -> str:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            Thread(target=_serve, args=(listener, answer), daemon=True).start()
            return f"127.0.0.1:{listener.getsockname()[1]}"

        yield start


def _serve(listener: socket.socket, answer: bytes | None) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection:
                if connection.recv(len(GREETING)) == GREETING and answer is not None:
                    connection.sendall(answer)
                if answer != b"":
                    connection.recv(1)  # until the other side closes


def test_a_server_of_our_version_is_taken(serve: Callable[[bytes | None], str]) -> None:
    greet([serve(version(*PROTOCOL)), serve(version(*PROTOCOL))], MOST_S)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (version(PROTOCOL[0] - 1, 9), f"speaks version {PROTOCOL[0] - 1}.9.0"),
        (version(PROTOCOL[0], PROTOCOL[1] + 1), f"speaks version {PROTOCOL[0]}.{PROTOCOL[1] + 1}.0"),
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "is no RPC server"),
        (b"", "is no RPC server"),
        (None, "accepts connections and does not answer"),
        (version(*PROTOCOL)[:20], "accepts connections and does not answer"),
    ],
)
def test_what_answers_otherwise_is_a_sentence(
    serve: Callable[[bytes | None], str], answer: bytes | None, said: str
) -> None:
    address = serve(answer)

    with pytest.raises(EngineError) as raised:
        greet([address], MOST_S)
    assert said in raised.value.message
    assert address in raised.value.message
    assert raised.value.hint


def test_a_busy_server_survives_that_nobody_waits_any_more() -> None:
    """It reads the greeting later; rpc-server would be ended by answering to a connection that was only closed."""
    with socket.create_server(("127.0.0.1", 0)) as busy:
        with pytest.raises(EngineError, match="does not answer"):
            greet([f"127.0.0.1:{busy.getsockname()[1]}"], MOST_S)
        connection, _ = busy.accept()
        with connection:
            assert connection.recv(len(GREETING)) == GREETING
            with pytest.raises(ConnectionResetError):
                connection.sendall(b"too late")


def test_two_names_of_one_server_are_found_out(serve: Callable[[bytes | None], str]) -> None:
    """llama.cpp would wait for ever for its second connection."""
    address = serve(version(*PROTOCOL))

    with pytest.raises(EngineError, match="does not answer"):
        greet([address, address.replace("127.0.0.1", "localhost")], MOST_S)


@pytest.mark.parametrize("host", ["127.0.0.1", "a..b"])
def test_an_address_without_a_server_is_a_sentence(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    with pytest.raises(EngineError, match=f"No RPC server can be reached at {host}:{port}"):
        greet([f"{host}:{port}"], MOST_S)


def test_a_port_that_is_none_is_a_sentence(serve: Callable[[bytes | None], str]) -> None:
    """The resolver would take its lower bits for a port, at which another server may listen."""
    port = int(serve(version(*PROTOCOL)).rpartition(":")[2]) + 2**16
    with pytest.raises(EngineError, match=f"No RPC server can be reached at localhost:{port}: ports end at 65535"):
        greet([f"localhost:{port}"], MOST_S)


def test_a_build_without_rpc_is_told_how_to_build() -> None:
    without: Any = SimpleNamespace(c=SimpleNamespace(llama_supports_rpc=lambda: False))

    with pytest.raises(CapacityError, match="built without RPC") as raised:
        remote_devices(without, ["127.0.0.1:50052"])
    assert "GGML_RPC=on" in raised.value.hint


def test_devices_are_numbered_by_the_order_of_their_servers(serve: Callable[[bytes | None], str]) -> None:
    """Whatever numbers llama.cpp gave in this process before."""
    first, second = serve(version(*PROTOCOL)), serve(version(*PROTOCOL))
    handles = {first: [70, 71], second: [80]}

    def free(handle: int, free_bytes: Any, total_bytes: Any) -> None:
        free_bytes._obj.value = handle * 1000

    library: Any = SimpleNamespace(
        c=SimpleNamespace(llama_supports_rpc=lambda: True),
        ggml=SimpleNamespace(
            ggml_backend_rpc_add_server=lambda address: address.decode(),
            ggml_backend_reg_dev_count=lambda server: len(handles[server]),
            ggml_backend_reg_dev_get=lambda server, place: handles[server][place],
            ggml_backend_dev_memory=free,
        ),
    )

    found = remote_devices(library, addresses_of(f"{first}, {second},{first}"), MOST_S)

    assert [(each.name, each.description, each.handle) for each in found] == [
        *(("RPC0", first, 70), ("RPC1", first, 71)),
        ("RPC2", second, 80),
    ]
    assert [each.free_bytes for each in found] == [70_000, 71_000, 80_000]
    assert all(each.remote and not each.integrated for each in found)
