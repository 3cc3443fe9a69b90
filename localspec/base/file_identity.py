"""The identity of a model file: digests that recognise it without reading gigabytes."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

_SAMPLE_BYTES = 2**20
_SMALL_BYTES = 64 * 2**20
"""A file of this size is read whole in well under a tenth of a second."""
_BLOB = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """Digests that tell two files of the same name apart."""

    sample: str
    """The digest of the size and the first and last megabyte, in 16 hexadecimal digits."""
    sha256: str | None
    """The digest of the whole file; None where that would mean reading gigabytes."""


def sample_digest(file: Path) -> bytes:
    """The SHA-256 of the size, the first and the last megabyte. Raises OSError."""
    with file.open("rb") as stream:
        size_bytes = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        head = stream.read(_SAMPLE_BYTES)
        stream.seek(max(0, size_bytes - _SAMPLE_BYTES))
        return hashlib.sha256(b"%d" % size_bytes + head + stream.read()).digest()


def identify(file: Path) -> FileIdentity | None:
    """The identity of a file; None if it cannot be read."""
    try:
        return FileIdentity(sample_digest(file).hex()[:16], _sha256(file))
    except OSError:
        return None


def _sha256(file: Path) -> str | None:
    """Computed for a small file; for one in the Hub's cache the name of its blob, which a download verified."""
    if file.stat().st_size <= _SMALL_BYTES:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    blob = file.resolve()
    return blob.name if blob.parent.name == "blobs" and _BLOB.fullmatch(blob.name) else None


def text_digest(text: str | None) -> str | None:
    """The digest of a text, in 16 hexadecimal digits."""
    return None if text is None else hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
