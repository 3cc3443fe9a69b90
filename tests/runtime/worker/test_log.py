"""The log file keeps what was printed, within bounds."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from localspec.runtime.worker import log
from localspec.runtime.worker.log import open_log, tail


def append(log_file: Path, text: str) -> None:
    descriptor = open_log(log_file)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def test_a_log_grows_from_one_engine_to_the_next(tmp_path: Path) -> None:
    """The folder is made, and what an earlier engine said stays."""
    log_file = tmp_path / "logs" / "engine.log"
    append(log_file, "first\n")
    append(log_file, "second\n")
    assert log_file.read_text() == "first\nsecond\n"


def test_a_large_log_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One old log is kept; a log below the bound stays where it is."""
    monkeypatch.setattr(log, "MAX_LOG_BYTES", 10)
    log_file = tmp_path / "engine.log"
    append(log_file, "0123456789")
    append(log_file, "A")
    assert log_file.read_text() == "0123456789A"
    append(log_file, "fresh")
    assert log_file.read_text() == "fresh"
    assert (tmp_path / "engine.log.old").read_text() == "0123456789A"


def test_a_log_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    """A folder in the file's place, or a file in the folder's, costs the log and not the engine."""
    append(tmp_path, "lost")
    (tmp_path / "file").write_text("")
    append(tmp_path / "file" / "engine.log", "lost")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "")]


def test_only_what_this_engine_wrote_counts(tmp_path: Path) -> None:
    """An earlier engine's trouble is not this one's."""
    log_file = tmp_path / "engine.log"
    log_file.write_text("GGML_ASSERT failed\n")
    since_bytes = log_file.stat().st_size
    append(log_file, "started\n")
    assert tail(log_file, since_bytes, 1) == "started\n"


def test_of_loggers_the_messages_of_this_engine_count(tmp_path: Path) -> None:
    """Two apps that run at once have one log; a time and a number say nothing to whoever reads an error."""
    log_file = tmp_path / "engine.log"
    for pid, level in ((os.getpid(), "ERROR"), (os.getpid() + 1, "ERROR"), (os.getpid(), "INFO")):
        made = {"process": pid, "levelname": level, "name": "localspec.llama", "msg": f"said by {pid}"}
        append(log_file, logging.Formatter(log.FORM).format(logging.makeLogRecord(made)) + "\n")
    append(log_file, "written by nobody's logger\n")
    said = f"said by {os.getpid()}\n"
    assert tail(log_file, 0, os.getpid()) == f"error: {said}{said}written by nobody's logger\n"


def test_a_missing_log_tells_nothing(tmp_path: Path) -> None:
    """No log is no reason to fail."""
    assert tail(tmp_path / "engine.log", 0, 1) == ""
