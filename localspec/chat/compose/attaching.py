"""Files that a message mentions, read while the user types."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace

from localspec.base.errors import LocalSpecError, NotFoundError
from localspec.chat.compose.attachment import Attachment
from localspec.chat.compose.file_reading import path_of, read_attachment
from localspec.chat.compose.mentions import readings
from localspec.chat.compose.message import Enclosures


class Attaching:
    """Tries each mention once for a message; one that cannot be attached stays text."""

    def __init__(self, enclosures: Enclosures) -> None:
        self.message_n = 0
        """The number of the message that is being written: files read for an earlier one are dropped."""
        self.elsewhere: Callable[[str], Attachment | None] = lambda _: None
        """Reads what is no file; None for a name that it does not know. Raises LocalSpecError."""
        self._enclosures = enclosures
        self._tried: set[str] = set()
        self._open: set[str] = set()
        """Claimed and not read yet."""
        self._turn = asyncio.Lock()

    def claim(self, text: str) -> list[str]:
        """The paths that ``text`` mentions and that were not tried yet; they count as tried from now on."""
        untried = [path for path in self._enclosures.unknown(text) if path not in self._tried]
        self._tried.update(untried)
        self._open.update(untried)
        return untried

    @property
    def busy(self) -> bool:
        """True while a file is being read."""
        return bool(self._open)

    def claim_path(self, path: str) -> None:
        """Count a path as tried."""
        self._tried.add(path)
        self._open.add(path)

    def clear(self) -> None:
        """Begin another message."""
        self.message_n += 1
        self._tried.clear()
        self._open.clear()

    def refuse(self, path: str) -> None:
        """Detach a file."""
        self._tried.add(path)
        self._enclosures.detach(path)

    async def attach(
        self, paths: Iterable[str], message_n: int, n_ctx: int | None, *, meant: bool
    ) -> list[LocalSpecError]:
        """Read files for a message, and return the errors of those that cannot be attached.

        Unless it is ``meant`` as a file for sure, a name that no file has is no error: it is only text.
        """
        errors: list[LocalSpecError] = []
        async with self._turn:
            for path in paths:
                found = await asyncio.to_thread(self._read, path, n_ctx, lambda: message_n != self.message_n)
                if message_n != self.message_n:
                    return []
                if isinstance(found, Attachment):
                    self._enclosures.attach(found)
                elif meant or not isinstance(found, NotFoundError):
                    errors.append(found)
                self._open.discard(path)
        return errors

    def _read(self, path: str, n_ctx: int | None, cancelled: Callable[[], bool]) -> Attachment | LocalSpecError:
        """The file or folder of a path; without such a file, punctuation at its end is taken for the sentence's."""
        refused: LocalSpecError | None = None
        for reading in readings(path):
            try:
                if (found := self.elsewhere(reading)) is not None:
                    return replace(found, n_ctx=n_ctx)
                return read_attachment(path_of(reading), reading, n_ctx, cancelled)
            except LocalSpecError as error:
                refused = refused or error
                if not isinstance(error, NotFoundError):
                    return error
        assert refused is not None, "a mention has at least one reading"
        return refused
