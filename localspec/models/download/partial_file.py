"""The partial file of a download, with its running checksum.

It survives a lost connection, a kill and a reboot. A note beside it has the server's validator, so that the next
request can ask for the rest of the same content (``If-Range``).
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from types import TracebackType

from localspec.base.amounts import amount
from localspec.base.errors import OWN_CACHE, DownloadError, refused
from localspec.models.download.checksum import Checksum, digest
from localspec.models.download.layout import CacheLayout, explained
from localspec.models.pairs.free_space import reserve_bytes
from localspec.models.pairs.unfinished import read_note

_BLOCK = 2**20
_SPACE_CHECK_BYTES = 2**24
_STRONG = re.compile(r'"[!#-~]*"')


class PartialFile:
    """A context manager that keeps the file open for writing; the caller holds the lock of the download."""

    def __init__(self, layout: CacheLayout, free_bytes: Callable[[Path], int | None]) -> None:
        self._layout = layout
        self._free_bytes = free_bytes
        self._file: FileIO
        self._digest: Checksum
        self._unchecked = 0
        self.held = 0
        """Bytes on the disk that the checksum covers."""
        self.validator: str | None = None
        """The strong ETag of the response they came with."""

    def __enter__(self) -> PartialFile:
        self._digest = self._new_digest()
        self.validator = self._read_validator()
        if read_note(self._layout.note).get("file") != self._layout.remote.file:
            self._write_note()
        with explained(self._layout.cache):
            # Not "a": a resumed file is written where the checksum ends.
            descriptor = os.open(self._layout.part, os.O_RDWR | os.O_CREAT, 0o666)
            self._file = FileIO(descriptor, "r+")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def hash_held(self, progress: Callable[[], None]) -> None:
        """Hash the bytes on the disk; ``progress`` is called for every MiB and may raise."""
        with explained(self._layout.cache):
            while block := self._file.read(_BLOCK):
                self._digest.update(block)
                self.held += len(block)
                progress()
        if self.held > self._layout.remote.size_bytes:
            self.start_over()

    def start_over(self) -> None:
        """Drop all bytes."""
        with explained(self._layout.cache):
            self._file.seek(0)
            self._file.truncate()
        self._digest, self.held = self._new_digest(), 0
        self.note(None)

    def note(self, validator: str | None) -> None:
        """Store the ETag of the bytes to come."""
        if validator == self.validator:
            return
        self.validator = validator
        self._write_note()

    def write(self, data: bytes) -> None:
        """Append bytes. Raises DownloadError when the disk is full; the bytes that fitted stay."""
        self._check_space(len(data))
        rest = memoryview(data)
        while rest:
            try:
                written = self._file.write(rest) or 0
            except OSError as error:
                raise self._refused(error) from error
            self._digest.update(rest[:written])
            self.held += written
            rest = rest[written:]

    def is_verified(self) -> bool:
        """True if all bytes have arrived and their checksum is the ETag."""
        return self.held == self._layout.remote.size_bytes and self._digest.hexdigest() == self._layout.remote.etag

    def install(self) -> None:
        """Turn it into the blob, in one step."""
        with explained(self._layout.cache):
            os.fsync(self._file.fileno())
            self._file.close()
            self._layout.part.replace(self._layout.blob)
            self._layout.note.unlink(missing_ok=True)

    def _check_space(self, arrived: int) -> None:
        self._unchecked += arrived
        if self._unchecked >= _SPACE_CHECK_BYTES:
            self._unchecked = 0
            free = self._free_bytes(self._layout.blob.parent)
            if free is not None and free < reserve_bytes(self._layout.blob.parent):
                raise self._full()

    def _refused(self, error: OSError) -> DownloadError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return self._full()
        what = f"{self._layout.remote.file} cannot be written to {self._layout.cache}"
        message, hint = refused(what, error, OWN_CACHE)
        return DownloadError(message, f"{hint} What has arrived is kept.")

    def _full(self) -> DownloadError:
        missing = self._layout.remote.size_bytes - self.held
        return DownloadError(
            f"The disk of {self._layout.cache} is full; {amount(missing)} of {self._layout.remote.file} are missing.",
            "Free some space and run the command again: it continues where it stopped.",
        )

    def _new_digest(self) -> Checksum:
        return digest(self._layout.remote.etag, self._layout.remote.size_bytes)

    def _read_validator(self) -> str | None:
        validator = read_note(self._layout.note).get("validator")
        return validator if isinstance(validator, str) and is_strong(validator) else None

    def _write_note(self) -> None:
        """Write the file's name, its full size and the validator."""
        remote = self._layout.remote
        note = {"file": remote.file, "size_bytes": remote.size_bytes, "validator": self.validator}
        with explained(self._layout.cache):
            self._layout.note.write_text(json.dumps(note), encoding="utf-8")


def is_strong(etag: str) -> bool:
    """True if an ETag identifies content byte for byte (RFC 9110, 8.8.3) and can be sent in a header."""
    return _STRONG.fullmatch(etag) is not None
