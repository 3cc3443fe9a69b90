"""Reading what a message mentions, beside the typing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from localspec.compose.attachment import Attachment, read_attachment
from localspec.compose.message import Enclosures
from localspec.errors import LocalSpecError, NotFoundError


class Attaching:
    """Each mention is tried once for a message; what cannot be attached stays in it as text."""

    def __init__(self, enclosures: Enclosures) -> None:
        self._enclosures = enclosures
        self._tried: set[str] = set()
        self._open: set[str] = set()
        """Claimed and not read yet."""
        self._turn = asyncio.Lock()

    def claim(self, text: str) -> list[str]:
        """What ``text`` mentions that was not looked for yet; it counts as tried from now on."""
        untried = [path for path in self._enclosures.unknown(text) if path not in self._tried]
        self._tried.update(untried)
        self._open.update(untried)
        return untried

    @property
    def busy(self) -> bool:
        """Whether something is still being read."""
        return bool(self._open)

    def claim_path(self, path: str) -> None:
        """It is looked for already."""
        self._tried.add(path)
        self._open.add(path)

    def clear(self) -> None:
        """The message was sent."""
        self._tried.clear()

    def refuse(self, path: str) -> None:
        """Take it off again."""
        self._tried.add(path)
        self._enclosures.detach(path)

    async def attach(self, paths: Iterable[str], n_ctx: int | None, *, meant: bool) -> list[LocalSpecError]:
        """Read them; what cannot be attached comes back as errors.

        Unless it is ``meant`` as a file for sure, a name that no file has is no error: it is only text.
        """
        errors: list[LocalSpecError] = []
        async with self._turn:
            for path in paths:
                try:
                    self._enclosures.attach(await asyncio.to_thread(_read, path, n_ctx))
                except LocalSpecError as error:
                    if meant or not isinstance(error, NotFoundError):
                        errors.append(error)
                self._open.discard(path)
        return errors


def _read(path: str, n_ctx: int | None) -> Attachment:
    try:
        place = Path(path).expanduser()
    except RuntimeError:  # the home of somebody unknown
        raise NotFoundError(f"There is no file {path}.", "Type @ and a part of its name to search.") from None
    return read_attachment(place, path, n_ctx)
