"""The engine's log file: all that llama.cpp and Python print."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

MAX_LOG_BYTES = 4_000_000
"""A log larger than this is set aside when the next engine starts; one old log is kept."""

FORM = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"
"""The form of what loggers write, llama.cpp's among them."""
_LOGGED = re.compile(r"[\d-]+ [\d:,]+ (\d+) ([A-Z]+) [\w.]+: ")
"""The time, process, level and logger before the message."""
_TAIL_BYTES = 32_768


def open_log(log_file: Path) -> int:
    """A descriptor to append to the log with; to nowhere, if the file cannot be written.

    An engine that cannot write its log still answers.
    """
    try:
        log_file.parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            _set_aside(log_file)
        return os.open(log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def _set_aside(log_file: Path) -> None:
    if log_file.exists() and log_file.stat().st_size > MAX_LOG_BYTES:
        log_file.replace(log_file.with_name(log_file.name + ".old"))


def tail(log_file: Path, since_bytes: int, pid: int) -> str:
    """The end of what was written after the first ``since_bytes``; nothing if the log cannot be read.

    Of what loggers wrote it has the messages of this process alone: engines of other apps may have the same log.
    """
    try:
        with log_file.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(since_bytes, end - _TAIL_BYTES))
            text = log.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        logged = _LOGGED.match(line)
        if logged is None:
            lines.append(line)
        elif int(logged[1]) == pid:
            lines.append(("error: " if logged[2] == "ERROR" else "") + line[logged.end() :])
    return "".join(lines)
