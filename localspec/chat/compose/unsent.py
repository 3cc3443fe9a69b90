"""Unsent messages, one a conversation, kept on disk until the conversation is opened again."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from localspec.base.file_lock import folder_lock
from localspec.base.shared_file import replace_file
from localspec.chat.compose.message import WrittenMessage

UNSENT = "unsent"
"""Name of the folder in the data folder."""


class UnsentMessages:
    """One file a conversation, in a folder of their own; a disk that is full or read-only costs the text alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[Path, bytes] = {}
        """The bytes loaded or saved here last: another app may have written others since."""

    def load(self, key: str) -> WrittenMessage:
        """The message last saved under ``key``; blank if none can be read."""
        try:
            path = self._path(key)
            data = self._seen[path] = path.read_bytes()
            return WrittenMessage.from_dict(json.loads(data))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return WrittenMessage("")

    def save(self, key: str, written: WrittenMessage) -> None:
        """Save a message; a blank one deletes the saved one, unless another app wrote that."""
        path = self._path(key)
        with suppress(OSError):
            if written.blank:
                self._forget(path)
            else:
                data = self._seen[path] = json.dumps(written.to_dict(), separators=(",", ":")).encode("ascii")
                replace_file(path, data, private=True)

    def drop(self, key: str) -> None:
        """Delete the message, whichever app saved it. Raises OSError."""
        self._path(key).unlink(missing_ok=True)

    def _forget(self, path: Path) -> None:
        if not path.exists():
            return
        with folder_lock(path):
            if path.read_bytes() == self._seen.get(path):
                path.unlink()

    def _path(self, key: str) -> Path:
        name = hashlib.sha256(key.encode("utf-8", errors="replace")).hexdigest()[:16] if key else "new"
        return self._folder / f"{name}.json"
