"""A paper read through the child process, within limits of time and size."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localspec.base.errors import InputError, error_from_code
from localspec.base.visible import visible_line
from localspec.chat.papers.child import command
from localspec.chat.papers.kinds import PaperKind

MAX_S = 40.0
"""Seconds after which reading ends with the parts that there are; a paper of 300 pages takes four on one core."""
MAX_FILE_BYTES = 500_000_000
_POLL_S = 0.1
_CHUNK_BYTES = 65_536
_MOST_LINE_BYTES = 1_000_000
"""A line of ``child`` has at most ``SLICE_CHARS`` characters, of up to 12 bytes each in JSON."""


@dataclass(frozen=True, slots=True)
class PaperText:
    text: str
    taken: str = ""
    """The parts that were taken, as "pages 1-40 of 312"; empty if that is all."""


class _Collected:
    """The parts as they come in."""

    def __init__(self) -> None:
        self.unit, self.total_n = "", 1
        self.done_n = 0
        self.done_texts_n = 0
        """Texts that belong to whole parts."""
        self.texts: list[str] = []
        self.size_bytes = 0

    @property
    def complete(self) -> bool:
        return self.done_n >= self.total_n

    def take(self, value: Any, name: str) -> None:
        """Take in a line of the child. Raises LocalSpecError if it says so."""
        match value:
            case {"error": [int(code), str(message), str(hint)]}:
                raise error_from_code(code, visible_line(message.replace("{name}", name)), hint)
            case {"unit": "page" | "sheet" | "cell" | "" as unit, "total_n": int(total_n)}:
                self.unit, self.total_n = unit, total_n
            case str(text):
                self.texts.append(text)
                self.size_bytes += len(text.encode("utf-8", errors="replace"))
            case None:
                self.done_n += 1
                self.done_texts_n = len(self.texts)

    @property
    def text(self) -> str:
        """The text of the whole parts; of a paper whose first part is not whole, the beginning."""
        return "".join(self.texts[: self.done_texts_n or None])

    @property
    def taken(self) -> str:
        if self.complete:
            return ""
        if not self.unit:
            return "the beginning"
        if self.done_n > 1:
            return f"{self.unit}s 1-{self.done_n} of {self.total_n:,}"
        return f"{'' if self.done_n else 'the beginning of '}{self.unit} 1 of {self.total_n:,}"


def read_paper(
    path: Path,
    name: str,
    kind: PaperKind,
    most_bytes: int,
    *,
    cancelled: Callable[[], bool] = lambda: False,
) -> PaperText:
    """The text of a paper that the user calls ``name``, as far as ``most_bytes`` and ``MAX_S`` go.

    Raises InputError if it cannot be read or holds no text.
    """
    if path.stat().st_size > MAX_FILE_BYTES:
        raise InputError(f"{name} is larger than {MAX_FILE_BYTES // 1_000_000} MB.", "Attach a part of it.")
    collected = _Collected()
    with subprocess.Popen(
        command(kind, path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            for line in _lines(process, time.monotonic() + MAX_S, cancelled):
                collected.take(json.loads(line), name)
                if collected.size_bytes > most_bytes:
                    break
        except (ValueError, RecursionError):
            pass  # half a line, as the child was ended; or no answer of ours
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # its copies too
    if collected.text.strip():
        return PaperText(collected.text, collected.taken)
    if collected.complete and collected.total_n and kind is PaperKind.PDF:
        raise InputError(f"{name} holds no text: its pages are pictures.", "Recognise its text first (OCR).")
    if collected.complete:
        raise InputError(f"{name} is empty.", "There is nothing in it to attach.")
    raise InputError(f"{name} cannot be read: it takes too long, or too much memory.", "Attach a part of it.")


def _lines(process: subprocess.Popen[bytes], end_s: float, cancelled: Callable[[], bool]) -> Iterator[bytes]:
    """The lines that the process writes until it ends, ``end_s`` is past or nobody waits any more."""
    assert process.stdout is not None
    unfinished = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not cancelled() and time.monotonic() < end_s:
            if not selector.select(_POLL_S):
                continue
            chunk = os.read(process.stdout.fileno(), _CHUNK_BYTES)
            if not chunk:
                return
            *lines, unfinished = (unfinished + chunk).split(b"\n")
            yield from lines
            if len(unfinished) > _MOST_LINE_BYTES:
                return
