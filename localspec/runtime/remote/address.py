"""The address of a server, and the key for it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_address
from urllib.parse import urlsplit

from localspec.base.errors import UsageError

KEY_VARIABLE = "LOCALSPEC_API_KEY"
_KEYRING_SERVICE = "localspec"
_HOST = re.compile(r"[\w.-]+|[0-9a-fA-F:.]+")


def is_loopback(host: str) -> bool:
    """True if only this machine can reach a server at this host."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A scheme, a host and a port, and the path under which the server's APIs are."""

    scheme: str
    host: str
    port: int | None
    path: str = ""

    @staticmethod
    def parse(text: str) -> ServerAddress:
        """The address that a person gave; ``http`` unless said, and as well with OpenAI's ``/v1`` at its end.

        Raises UsageError, which never shows a password.

        >>> ServerAddress.parse("localhost:8484/v1").url
        'http://localhost:8484'
        """
        try:
            parts = urlsplit(text if "://" in text else f"http://{text}")
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise impossible_address() from None
        if "@" in parts.netloc:
            raise UsageError("The address of a server must not have a name or a password in it.", _KEY_PLACE)
        if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host) or parts.query or parts.fragment:
            raise impossible_address()
        if not re.fullmatch(r"[\w./~-]*", parts.path):
            raise UsageError("The path in the address of the server is not valid.", _FORM)
        return ServerAddress(parts.scheme, host, port, parts.path.rstrip("/").removesuffix("/v1"))

    @property
    def place(self) -> str:
        """The host, and the port if there is one, as people name the server."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.place}{self.path}"

    @property
    def is_here(self) -> bool:
        """True if the server is on this machine."""
        return is_loopback(self.host) or self.host.endswith(".localhost")

    @property
    def warning(self) -> str:
        """A sentence if others can read what is sent; otherwise empty."""
        if self.scheme == "https" or self.is_here:
            return ""
        return (
            f"Nothing that goes to {self.place} is encrypted: who sits between can read and change it, "
            "and read the key. Use https, or a tunnel (ssh -L)."
        )


_FORM = "Write it as http://HOST:PORT or https://HOST."
_KEY_PLACE = f"Put the key into the environment, as {KEY_VARIABLE}."


def impossible_address() -> UsageError:
    """The error of an address that no server can have."""
    return UsageError("The address of the server is not valid.", _FORM)


def api_key(address: ServerAddress) -> str | None:
    """The key for a server: the environment's, else that of the system's keyring, if the package for it is installed.

    Raises UsageError for a key that no header can carry.
    """
    key = os.environ.get(KEY_VARIABLE, "").strip() or _from_keyring(address)
    if key and not (key.isascii() and key.isprintable()):
        raise UsageError(f"The key for {address.place} has characters that no key has.", "Set it again.")
    return key or None


def _from_keyring(address: ServerAddress) -> str | None:
    if find_spec("keyring") is None:
        return None
    try:
        found = import_module("keyring").get_password(_KEYRING_SERVICE, address.place)
    except Exception:  # noqa: BLE001 -- a keyring that is locked, or none at all: the server says if a key is needed
        return None
    return found.strip() if isinstance(found, str) else None
