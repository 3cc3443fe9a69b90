"""A watch over the connections to RPC servers, for whose answers llama.cpp waits without any limit of time.

The sockets are llama.cpp's own; they are found among the descriptors of this process. The kernel is set to notice
machines that are gone; then llama.cpp ends the process. A server that lives and is silent is reported, and the process
is ended only where nobody waits for the answer any more.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path

from localspec.base.child_exit import RPC_SILENT
from localspec.engine.backends.llama.rpc import addresses_of

_DESCRIPTORS = Path("/dev/fd")
SILENT_S = 15.0
"""Seconds without a byte from or to any server after which that is reported."""
_LOOK_S = 1.0
_GONE_S = 20
"""Seconds after which the kernel gives up a machine that acknowledges nothing."""
_SINCE_SENT = 44
"""Offset of tcpi_last_data_sent in Linux's struct tcp_info; tcpi_last_data_recv is the next but one. Milliseconds."""
_INFO_N = 56


@contextmanager
def rpc_watched(
    rpc: str | None, since: Callable[[], float | None], abandoned: Callable[[], bool], say: Callable[[str], None]
) -> Iterator[None]:
    """Watch these servers for the length of a ``with``; without any, do nothing.

    ``since`` returns the moment of the latest result while others are waited for, None while nothing is; ``abandoned``
    returns True while nobody wants what is being waited for. ``say`` is called from a thread of the watch, every second
    while no server sends anything.
    """
    if rpc is None:
        yield
        return
    over = threading.Event()
    watch = RpcWatch(addresses_of(rpc), since, abandoned, say)

    def look() -> None:
        while not over.wait(_LOOK_S):
            watch.look(time.monotonic())

    threading.Thread(target=look, name="rpc-watch", daemon=True).start()
    try:
        yield
    finally:
        over.set()


class RpcWatch:
    """The silence of some servers while results are waited for."""

    def __init__(
        self,
        addresses: Sequence[str],
        since: Callable[[], float | None],
        abandoned: Callable[[], bool],
        say: Callable[[str], None],
        end: Callable[[str], None] | None = None,
    ) -> None:
        """As ``rpc_watched``; ``end`` ends the process, and is for tests."""
        self._names = " or ".join(addresses)
        self._ports = {int(address.rpartition(":")[2]) for address in addresses}
        self._since, self._abandoned, self._say = since, abandoned, say
        self._end = end or _end

    def look(self, now_s: float) -> None:
        """Look at the connections; called every second with the time."""
        silences_s = list(self._silences_s())  # also while nothing is waited for: the kernel watches from then on
        since_s = self._since()
        if since_s is None or not silences_s:
            return
        silent_s = min(now_s - since_s, *silences_s)
        if silent_s < SILENT_S:
            return
        if self._abandoned():
            self._end(f"{RPC_SILENT} {self._names} for {silent_s:.0f} s, and nobody waits for it any more")
        else:
            self._say(f"no answer from the RPC server {self._names} for {silent_s:.0f} s")

    def _silences_s(self) -> Iterator[float]:
        """Seconds of silence of each connection of this process to one of the servers. The kernel is set to watch it.

        Connections are known by the server's port: its name may have any of several addresses.
        """
        files: list[Path] = []
        with suppress(OSError):  # descriptors may be exhausted; the next second may be better
            files += _DESCRIPTORS.iterdir()
        for file in files:
            with suppress(OSError, ValueError):
                if not stat.S_ISSOCK(os.fstat(int(file.name)).st_mode):
                    continue
                with socket.socket(fileno=os.dup(int(file.name))) as connection:
                    if connection.family == socket.AF_INET and connection.getpeername()[1] in self._ports:
                        _set_kernel_watch(connection)
                        yield _silence_s(connection)


def _set_kernel_watch(connection: socket.socket) -> None:
    """Have the kernel break a connection whose other machine is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("KEEPIDLE", 5), ("KEEPINTVL", 5), ("KEEPCNT", 3), ("USER_TIMEOUT", _GONE_S * 1000)):
        if (number := getattr(socket, f"TCP_{option}", None)) is not None:
            connection.setsockopt(socket.IPPROTO_TCP, number, value)


def _silence_s(connection: socket.socket) -> float:
    """Seconds since anything went either way on a connection; without end where the system does not tell."""
    if sys.platform != "linux":
        return inf
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_N)
    return float(min(*struct.unpack_from("I4xI", info, _SINCE_SENT))) / 1000


def _end(why: str) -> None:
    """End this process as llama.cpp does; the process that started it explains the last words."""
    with suppress(OSError):
        os.write(2, f"\n{why}\n".encode())
    os.abort()
