"""The part of a file that has arrived, on the disk, and its checksum so far.

It survives everything: a cut, a kill, a reboot. A note beside it keeps the server's validator, so that
the next request can ask for the rest of the same content (``If-Range``).
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
_CHECKED_EVERY = 2**24
_STRONG = re.compile(r'"[!#-~]*"')


class Part:
    """Open for writing, for the length of a ``with``; whoever opens it holds the file's lock."""

    def __init__(self, layout: CacheLayout, free_bytes: Callable[[Path], int | None]) -> None:
        self._layout = layout
        self._free_bytes = free_bytes
        self._file: FileIO
        self._digest: Checksum
        self._unchecked = 0
        self.held = 0
        """Bytes on the disk and in the checksum."""
        self.validator: str | None = None
        """The strong ETag under which the server sent them."""

    def __enter__(self) -> Part:
        with explained(self._layout.cache):
            # Not "a": a resumed part is written where the checksum ends, never behind it.
            descriptor = os.open(self._layout.part, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
            self._file = FileIO(descriptor, "r+")
        self._digest = self._new_digest()
        self.validator = self._noted()
        if read_note(self._layout.note).get("file") != self._layout.remote.file:
            self._write_note()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def prove_held(self, go_on: Callable[[], None]) -> None:
        """Take what is already there into the checksum; ``go_on`` is called for every MiB and may raise."""
        with explained(self._layout.cache):
            while block := self._file.read(_BLOCK):
                self._digest.update(block)
                self.held += len(block)
                go_on()
        if self.held > self._layout.remote.size_bytes:
            self.start_over()

    def start_over(self) -> None:
        """Forget all that has arrived."""
        with explained(self._layout.cache):
            self._file.seek(0)
            self._file.truncate()
        self._digest, self.held = self._new_digest(), 0
        self.note(None)

    def note(self, validator: str | None) -> None:
        """Remember under which ETag the bytes come."""
        if validator == self.validator:
            return
        self.validator = validator
        self._write_note()

    def write(self, data: bytes) -> None:
        """Append what has arrived. Raises DownloadError where there is no room; what fitted stays."""
        self._watch_space(len(data))
        rest = memoryview(data)
        while rest:
            try:
                written = self._file.write(rest) or 0
            except OSError as error:
                raise self._refused(error) from error
            self._digest.update(rest[:written])
            self.held += written
            rest = rest[written:]

    def is_right(self) -> bool:
        """Whether all of it has arrived, and is what its name says."""
        return self.held == self._layout.remote.size_bytes and self._digest.hexdigest() == self._layout.remote.etag

    def install(self) -> None:
        """Make it the blob, at once and for good."""
        with explained(self._layout.cache):
            os.fsync(self._file.fileno())
            self._file.close()
            self._layout.part.replace(self._layout.blob)
            self._layout.note.unlink(missing_ok=True)

    def _watch_space(self, arrived: int) -> None:
        self._unchecked += arrived
        if self._unchecked >= _CHECKED_EVERY:
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
            "Free some space and run the command again: it goes on where it stopped.",
        )

    def _new_digest(self) -> Checksum:
        return digest(self._layout.remote.etag, self._layout.remote.size_bytes)

    def _noted(self) -> str | None:
        validator = read_note(self._layout.note).get("validator")  # without one the checksum alone decides
        return validator if isinstance(validator, str) and is_strong(validator) else None

    def _write_note(self) -> None:
        """Say which file this is a part of, for whoever finds it, and under which ETag it came."""
        remote = self._layout.remote
        said = {"file": remote.file, "size_bytes": remote.size_bytes, "validator": self.validator}
        with explained(self._layout.cache):
            self._layout.note.write_text(json.dumps(said), encoding="utf-8")


def is_strong(etag: str) -> bool:
    """Whether it names one content byte for byte (RFC 9110, 8.8.3), and can be sent in a header."""
    return _STRONG.fullmatch(etag) is not None
