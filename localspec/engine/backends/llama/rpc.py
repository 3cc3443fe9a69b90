"""The devices of other machines, which llama.cpp reaches through its RPC servers.

llama.cpp ends its process where a server cannot be reached, and waits for ever where one takes the connection and says
nothing. So every server is greeted from here first, in the words of the protocol: a command (1 byte), the size of what
follows (8 bytes, little endian), and for HELLO 24 bytes of capabilities; the answer is its size and the version.
"""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Sequence
from contextlib import ExitStack

from localspec.base.errors import CapacityError, EngineError
from localspec.engine.backends.llama.devices import Device, free_bytes
from localspec.engine.backends.llama.native import Native, declare

PROTOCOL = (7, 0)
"""The version that the llama.cpp of our llama-cpp-python speaks: it takes servers of this major version, and of no
later minor one. The library has no function for it (RPC_PROTO_MAJOR_VERSION in ggml-rpc.h)."""
_HELLO = 14
_CAPABILITIES_N = 24
_REQUEST = struct.pack(f"<BQ{_CAPABILITIES_N}x", _HELLO, _CAPABILITIES_N)
_ANSWER = struct.Struct(f"<QBBBx{_CAPABILITIES_N}x")
_SIZE_BYTES = 8
"""The size at the beginning of an answer does not count itself."""
_RESET, _CLOSED = struct.pack("ii", 1, 0), struct.pack("ii", 0, 0)
"""Values of SO_LINGER: how a connection ends. A busy server reads our greeting after we have given up. Its answer would
end it (SIGPIPE) where the connection was closed, and does not where it was reset."""
ANSWER_S = 5.0
"""Seconds that a server may take to accept a connection, and to greet."""
_PORT_MOST = 65_535
_SERVERS_MOST = 16
"""llama.cpp's GGML_RPC_MAX_SERVERS."""
_BUILD = "Build ggml-rpc-server there from the same version of llama.cpp: docs/guide.md says how."


def addresses_of(wish: str) -> tuple[str, ...]:
    """The addresses that a list with commas between names, each once, as llama.cpp takes them: HOST:PORT."""
    return tuple(dict.fromkeys(address.strip() for address in wish.split(",")))


def remote_devices(native: Native, addresses: Sequence[str], answer_s: float = ANSWER_S) -> tuple[Device, ...]:
    """The devices of the servers at these addresses, numbered in this order as llama.cpp does: RPC0, RPC1.

    Raises CapacityError if llama.cpp was built without RPC, EngineError if a server does not answer or is another's.
    """
    if not native.c.llama_supports_rpc():
        raise CapacityError(
            "This llama.cpp was built without RPC, so it cannot reach the devices of other machines.",
            "In a checkout: make chat CMAKE_ARGS=-DGGML_RPC=on. Elsewhere: CMAKE_ARGS=-DGGML_RPC=on pip install "
            "--force-reinstall --no-deps --no-cache-dir --no-binary llama-cpp-python llama-cpp-python==0.3.36",
        )
    if len(addresses) > _SERVERS_MOST:
        raise CapacityError(f"llama.cpp takes at most {_SERVERS_MOST} RPC servers.", "Leave some out of --rpc.")
    greet(addresses, answer_s)
    return _numbered(native, addresses)


def greet(addresses: Sequence[str], answer_s: float = ANSWER_S) -> None:
    """Exchange greetings with all servers; raises EngineError for the first that does not answer as it should.

    All connections are held until the last server has answered. A server serves one at a time, so the second of two
    names of one server, for which llama.cpp would wait for ever, gets no answer.
    """
    with ExitStack() as connections:
        for address in addresses:
            host, _, port = address.rpartition(":")
            try:
                connection = connections.enter_context(_connect(host, int(port), answer_s))
            except (OSError, OverflowError, UnicodeError) as error:
                reason = "it does not answer" if isinstance(error, TimeoutError) else _reason(error)
                raise EngineError(
                    f"No RPC server can be reached at {address}: {reason}.",
                    "Start llama.cpp's ggml-rpc-server there, or leave it out of --rpc.",
                ) from error
            _check_version(address, _answer(connection, address))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _CLOSED)


def _connect(host: str, port: int, answer_s: float) -> socket.socket:
    """A connection as llama.cpp makes it, which knows IPv4 alone. Raises OSError, and OverflowError for no port."""
    if port > _PORT_MOST:  # its lower 16 bits would be taken for one
        raise OverflowError(f"ports end at {_PORT_MOST}")
    found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        connection.settimeout(answer_s)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        connection.connect(found[0][4])
    except BaseException:
        connection.close()
        raise
    return connection


def _reason(error: Exception) -> str:
    words = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return words[:1].lower() + words[1:]


def _answer(connection: socket.socket, address: str) -> bytes:
    """The server's answer to a greeting, cut short where it closes the connection. Raises EngineError for silence."""
    answer = b""
    try:
        connection.sendall(_REQUEST)
        while len(answer) < _ANSWER.size and (piece := connection.recv(_ANSWER.size - len(answer))):
            answer += piece
    except TimeoutError as error:
        raise EngineError(
            f"The RPC server at {address} accepts connections and does not answer.",
            "It serves one program at a time, and each server may stand in --rpc once: close what uses it, or start it "
            "again.",
        ) from error
    except OSError:
        pass  # it closed the connection, which is an answer
    return answer


def _check_version(address: str, answer: bytes) -> None:
    """Raises EngineError for an answer that is not of a server of our version."""
    size, major, minor, patch = _ANSWER.unpack(answer) if len(answer) == _ANSWER.size else (0, 0, 0, 0)
    if size != _ANSWER.size - _SIZE_BYTES:
        raise EngineError(
            f"What answers at {address} is no RPC server of llama.cpp, or a much older one.",
            f"Check the port. {_BUILD}",
        )
    if major != PROTOCOL[0] or minor > PROTOCOL[1]:
        raise EngineError(
            f"The RPC server at {address} speaks version {major}.{minor}.{patch} of the protocol, and this "
            f"llama.cpp {PROTOCOL[0]}.{PROTOCOL[1]}.",
            _BUILD,
        )


def _numbered(native: Native, addresses: Sequence[str]) -> tuple[Device, ...]:
    """The devices of all servers. llama.cpp keeps its handles as long as the process lives."""
    ggml = native.ggml
    declare(
        ggml,
        ("ggml_backend_rpc_add_server", ctypes.c_void_p, (ctypes.c_char_p,)),
        ("ggml_backend_reg_dev_count", ctypes.c_size_t, (ctypes.c_void_p,)),
        ("ggml_backend_reg_dev_get", ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_size_t)),
    )
    found: list[Device] = []
    for address in addresses:
        server = ggml.ggml_backend_rpc_add_server(address.encode())
        for place in range(ggml.ggml_backend_reg_dev_count(server) if server else 0):
            handle = ggml.ggml_backend_reg_dev_get(server, place)
            free = free_bytes(native, handle)
            found.append(Device(f"RPC{len(found)}", address, handle, free, integrated=False, remote=True))
    return tuple(found)
