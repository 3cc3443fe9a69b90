"""The sockets of a server of ours, which listen or say why they cannot, and the names of this machine for itself."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from typing import Any

from localspec.base.errors import UsageError

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
"""The hosts under which this machine asks itself. A web page may have its own name lead here (DNS rebinding)."""
_BACKLOG = 2048
_ABSENT = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""The reasons for which an address is none of this machine, as ``::1`` is where IPv6 is switched off."""
_OTHER_HOST = "Choose another --host; left out, it is an address that only this machine has."
_OTHER_PORT = "Choose another --port; 0 takes a free one."


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen at one port of every address of the host: ``localhost`` has two on most machines.

    Raises UsageError if no address of the host is this machine's, or the port is taken at one of them.
    """
    listening: list[socket.socket] = []
    absent: Exception | None = None
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, address in dict.fromkeys(found):  # some systems name an address twice
            taken = listening[0].getsockname()[1] if listening else port
            try:
                listening.append(_listen_at(family, kind, protocol, (address[0], taken, *address[2:])))
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                absent = error
    except (OSError, UnicodeError, OverflowError) as error:  # UnicodeError: a name with an empty or too long part
        for each in listening:
            each.close()
        elsewhere = isinstance(error, socket.gaierror | UnicodeError)
        raise _refusal(host, port, error, _OTHER_HOST if elsewhere else _OTHER_PORT) from None
    if absent is not None and not listening:
        raise _refusal(host, port, absent, _OTHER_HOST)
    return listening


def url_of(host: str, listening: Sequence[socket.socket]) -> str:
    """The address that a client on this machine uses for a server that listens at ``host``."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 -- compared, not bound
    port = listening[0].getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def without_port(host: str) -> str:
    """The name or address in a Host header.

    >>> without_port("localhost:80"), without_port("[::1]:80")
    ('localhost', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().removesuffix(".")


def _listen_at(family: int, kind: int, protocol: int, address: tuple[Any, ...]) -> socket.socket:
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except (OSError, OverflowError):
        listening.close()
        raise
    return listening


def _refusal(host: str, port: int, error: Exception, hint: str) -> UsageError:
    unknown = "Name or service not known" if isinstance(error, UnicodeError) else str(error)
    reason = getattr(error, "strerror", None) or unknown
    return UsageError(f"LocalSpec cannot listen at {host}, port {port} ({reason}).", hint)
