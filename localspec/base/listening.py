"""The socket of a server of ours, which listens or says why it cannot, and the names of this machine for itself."""

from __future__ import annotations

import errno
import socket

from localspec.base.errors import UsageError

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
"""The hosts under which this machine asks itself. A web page may have its own name lead here (DNS rebinding)."""
_BACKLOG = 2048
_OTHER_HOST = "Choose another --host; left out, it is an address that only this machine has."
_OTHER_PORT = "Choose another --port; 0 takes a free one."


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises UsageError if the host is not this machine's, or the port is taken."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:  # UnicodeError: a name with an empty or too long part
        raise _refusal(host, port, error, _OTHER_HOST) from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        elsewhere = isinstance(error, OSError) and error.errno == errno.EADDRNOTAVAIL
        raise _refusal(host, port, error, _OTHER_HOST if elsewhere else _OTHER_PORT) from None
    return listening


def without_port(host: str) -> str:
    """The name or address in a Host header.

    >>> without_port("localhost:80"), without_port("[::1]:80")
    ('localhost', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().removesuffix(".")


def _refusal(host: str, port: int, error: Exception, hint: str) -> UsageError:
    unknown = "Name or service not known" if isinstance(error, UnicodeError) else str(error)
    reason = getattr(error, "strerror", None) or unknown
    return UsageError(f"LocalSpec cannot listen at {host}, port {port} ({reason}).", hint)
