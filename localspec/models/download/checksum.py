"""The checksum of a file on the Hub, which is its ETag."""

from __future__ import annotations

import hashlib
import re
from typing import Protocol

_SHA256, _SHA1 = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{40}")


class Checksum(Protocol):
    """A running digest, as ``hashlib`` makes them."""

    def update(self, data: bytes | memoryview, /) -> None: ...

    def hexdigest(self) -> str: ...


def is_sha256(etag: str) -> bool:
    """True if an ETag is a SHA-256."""
    return bool(_SHA256.fullmatch(etag))


def is_checksum(etag: str) -> bool:
    """True if an ETag identifies content: the SHA-256 of a large file, or the git object id of a small one."""
    return bool(is_sha256(etag) or _SHA1.fullmatch(etag))


def digest(etag: str, size_bytes: int) -> Checksum:
    """A digest whose result over the right ``size_bytes`` bytes is ``etag``."""
    if is_sha256(etag):
        return hashlib.sha256()
    sha1 = hashlib.sha1(usedforsecurity=False)
    sha1.update(b"blob %d\0" % size_bytes)  # as git names its objects
    return sha1
