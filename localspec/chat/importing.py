"""Import of conversations from a file, in the background.

Another process reads the file, and its conversations are stored a few at a time, so that neither the screen nor the
reply under way waits. A file of which any part cannot be read adds nothing.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from localspec.base.amounts import number_of
from localspec.base.errors import InputError, LocalSpecError, NotFoundError, UsageError, reason_of
from localspec.chat.compose.file_reading import unquoted
from localspec.store import Store
from localspec.store.adding import Added
from localspec.store.files import import_process

_NAME_CHARS = 200
STOP = "stop"
"""The argument that ends the import under way."""
SLICE_BYTES = 128_000
"""About as much is stored at once. Nothing else can be stored meanwhile, for some 30 ms."""


class Importing:
    """Imports one file at a time. For the thread of the screen."""

    def __init__(self, store: Store, say: Callable[[str], None]) -> None:
        self._store = store
        self._say = say
        self._file: Path | None = None
        self._process: Process | None = None
        self._stopped = False
        self._added = Added((), ())
        self._all_n: int | None = None

    async def obey(self, argument: str) -> None:
        """Import a file and report the result. While an import is under way: report its progress, or end it."""
        if self._file is not None:
            self._say(self._stop(self._file) if argument == STOP else self._progress(self._file))
            return
        self._added, self._all_n, self._stopped = Added((), ()), None, False
        try:
            if argument == STOP:
                self._say("Nothing is being imported.")
                return
            self._file = file_argument(argument)
            self._say(f"Reading {self._file.name}; /import says how far it is, /import stop ends it.")
            await self._bring_in(self._file)
            self._say(imported(self._added))
        except LocalSpecError as error:
            before = f"{imported(self._added)} Then: " if self._added.new else ""
            self._say(f"{before}{error}")
        finally:
            self._file = None

    def _stop(self, file: Path) -> str:
        self._stopped = True
        if self._process is not None:
            _kill(self._process)
        return f"The import of {file.name} is being stopped."

    def _progress(self, file: Path) -> str:
        if self._all_n is None:
            return f"{file.name} is still being read; /import stop ends it."
        done_n = len(self._added.new) + len(self._added.known)
        return f"{done_n} of {self._all_n} conversations of {file.name} are done; /import stop ends it."

    async def _bring_in(self, file: Path) -> None:
        """Read and store a file. Raises StoreError or InputError."""
        await asyncio.to_thread(self._store.add, ())  # where nothing can be stored, nothing need be read
        try:
            process = await asyncio.create_subprocess_exec(
                *import_process.command(file), stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
            )
        except OSError as error:
            raise InputError(
                f"No process can be started to read {file.name}: {error.strerror or error}.",
                "Close other programs and try again.",
            ) from None
        assert process.stdout is not None
        self._process = process
        try:
            if self._stopped:
                _kill(process)
            await self._take_in(process.stdout)
        except asyncio.IncompleteReadError:
            if not self._stopped:
                raise InputError(
                    f"Reading {file.name} broke off.", "There may be too little memory for a file of this size."
                ) from None
            raise InputError(f"Importing {file.name} was stopped.", "The same command goes on with it.") from None
        finally:
            self._process = None
            _kill(process)
            await process.communicate()  # with what it had still to say, or it would be waited for in vain

    async def _take_in(self, reader: asyncio.StreamReader) -> None:
        first = import_process.unpacked(await _frame(reader))
        if isinstance(first, LocalSpecError):
            raise first
        self._all_n = first
        held: list[bytes] = []
        for number in range(1, first + 1):
            held.append(await _frame(reader))
            if self._stopped:
                raise asyncio.IncompleteReadError(b"", None)  # what has come in already is of no use either
            if number == first or sum(map(len, held)) >= SLICE_BYTES:
                added = await asyncio.to_thread(self._add, held)
                self._added = Added(self._added.new + added.new, self._added.known + added.known)
                held = []

    def _add(self, frames: Sequence[bytes]) -> Added:
        return self._store.add([import_process.unpacked(frame) for frame in frames])


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (length,) = import_process.LENGTH.unpack(await reader.readexactly(import_process.LENGTH.size))
    return await reader.readexactly(length)


def _kill(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()


def file_argument(argument: str) -> Path:
    """The file in the argument of ``/import``: one path, with or without quotes, which may begin with ``~``.

    Raises UsageError if the argument is empty, NotFoundError if there is no such file.
    """
    text = unquoted(argument.strip())
    if not text:
        raise UsageError(
            "/import needs a file that LocalSpec (JSON), ChatGPT or LM Studio wrote.",
            "Give its name after the command.",
        )
    name = text if len(text) <= _NAME_CHARS else f"{text[:_NAME_CHARS]}…"
    try:
        path = Path(text).expanduser()
        is_file, exists = path.is_file(), path.exists()
    except (OSError, ValueError, RuntimeError) as error:  # an impossible name, or an unknown home
        raise NotFoundError(f"{name} cannot be read: {reason_of(error)}.", "Check its name.") from None
    if not is_file:
        raise NotFoundError(f"{name} is not a file." if exists else f"There is no file {name}.", "Check its name.")
    return path


def imported(added: Added) -> str:
    """The result of an import in a sentence."""
    if not added.new and added.known:
        return f"Nothing is new: {number_of(len(added.known), 'conversation')} skipped, already here."
    known = f"; {len(added.known)} skipped, already here" if added.known else ""
    return f"{number_of(len(added.new), 'conversation')} imported{known}."
