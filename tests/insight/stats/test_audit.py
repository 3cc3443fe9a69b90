"""The log has what happened, in order, for its owner alone, and nothing that is to be redacted."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from localspec.base.errors import EngineError
from localspec.base.file_lock import file_lock
from localspec.engine.events import (
    Alternative,
    Event,
    Finished,
    FinishReason,
    Origin,
    Proposal,
    Round,
    Token,
    TokenLogprobs,
    ToolCall,
)
from localspec.engine.tally import Tally
from localspec.engine.wire import event_from_dict
from localspec.insight.stats import audit
from localspec.insight.stats.audit import AuditLog
from localspec.insight.stats.redaction import Redaction
from tests.store.support import START, events

SECRET = Redaction([re.compile(r"sk-\d+")])


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def log_of(path: Path, redaction: Redaction | None = None, **limits: Any) -> AuditLog:
    return AuditLog(path, redaction, clock=lambda: START, **limits)


@pytest.mark.parametrize("redaction", [None, SECRET])
def test_a_reply_is_logged_as_it_was(tmp_path: Path, redaction: Redaction | None) -> None:
    """Every round, with what it is made with and how it ended."""
    path = tmp_path / "audit.ndjson"
    log = log_of(path, redaction)
    reply = log.begin({"pair_id": "builtin"})
    said = events("one two", "three")
    for event in said:
        reply.receive(event)
    log.begin({}).fail(EngineError("It stopped."))
    found = lines(path)
    assert [record["event"] for record in found] == ["begin", "start", "round", "round", "end", "begin", "error"]
    assert [event_from_dict(record) for record in found[2:4]] == [event for event in said if isinstance(event, Round)]
    assert {record["reply"] for record in found[:5]} == {reply.id}
    assert found[0]["about"] == {"pair_id": "builtin"}
    assert found[4]["timings"]["predicted_n"] == 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path: Path) -> None:
    """It is told as a disk that refuses is; with a reader it has the lines."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    log = log_of(path)
    log.write([{"event": "begin"}])
    assert "cannot be written" in str(log.trouble)
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as reader:
        log.write([{"event": "begin"}])
        assert (log.trouble, json.loads(reader.read())["event"]) == (None, "begin")


def test_a_stream_is_never_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of a program's own output is no log of ours, however large it is."""
    path = tmp_path / "output"
    monkeypatch.setattr(audit, "is_stream", lambda each: each == path)
    log = log_of(path, max_bytes=1)
    for _ in range(2):
        log.write([{"event": "begin"}])
    assert (len(lines(path)), [*tmp_path.iterdir()]) == (2, [path])


def test_a_folder_in_place_of_the_log_is_told_and_nothing_beside_it_deleted(tmp_path: Path) -> None:
    for path in (Path("/"), tmp_path / "folder"):
        path.mkdir(exist_ok=True)
        log = log_of(path)
        (tmp_path / "folder.1").touch()
        os.utime(tmp_path / "folder.1", (0, 0))
        log.begin({}).receive(events("one")[0])
        assert log.trouble is not None
        assert (tmp_path / "folder.1").exists()


def test_rounds_are_there_at_once_without_rules(tmp_path: Path) -> None:
    """A program that is killed has logged them."""
    path = tmp_path / "audit"
    reply = log_of(path).begin({})
    for event in events("one two")[:-1]:
        reply.receive(event)
    assert [record["event"] for record in lines(path)] == ["begin", "start", "round"]


def test_no_secret_is_logged(tmp_path: Path) -> None:
    """Not in pieces over rounds, nor proposed; what is beside it stays."""
    path = tmp_path / "audit"
    reply = log_of(path, SECRET).begin({"options": {"stop": ("sk-1", "end")}})
    rounds: list[Event] = [
        _round(0, ["key ", "sk"], "none"),
        _round(1, ["-", "4"], "fine"),
        _round(2, ["2"], "99"),
        _round(3, [" done"], "sk-7"),
    ]
    for event in rounds:
        reply.receive(event)
    reply.fail(EngineError("It stopped at sk-3."))
    first, *_, last = lines(path)
    assert first["about"]["options"]["stop"] == ["[redacted]", "end"]
    assert last["message"] == "It stopped at [redacted]."
    found = [record for record in lines(path) if record["event"] == "round"]
    texts = [[token["text"] for token in record["tokens"]] for record in found]
    assert texts == [["key ", "[redacted]"], ["[redacted]", "[redacted]"], ["[redacted]"], [" done"]]
    assert [record["rejected"][0]["text"] for record in found] == ["none", "fine", "[redacted]", "[redacted]"]
    assert [record["tokens"][-1]["id"] for record in found] == [-1, -1, -1, 5]


def test_no_secret_is_logged_with_the_probabilities_of_tokens(tmp_path: Path) -> None:
    """Nor as an alternative of another token."""
    path = tmp_path / "audit"
    secret, other = (TokenLogprobs(piece, -1.0, (Alternative(7, b"sk-42", -2.0),)) for piece in (b"sk-42", b" ok"))
    tokens = (Token(5, "sk-42", Origin.PLAIN, None, secret), Token(6, " ok", Origin.PLAIN, None, other))
    reply = log_of(path, SECRET).begin({})
    reply.receive(replace(_round(0, [], ""), tokens=tokens, rejected=()))
    reply.receive(Finished(FinishReason.STOP, "", Tally().timings()))
    assert [token["text"] for token in lines(path)[1]["tokens"]] == ["[redacted]", " ok"]
    assert "sk-" not in path.read_text()
    assert str([*b"sk-42"]) not in path.read_text()


def test_calls_of_tools_are_logged_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    reply = log_of(path, SECRET).begin({})
    calls = (ToolCall("1", "send", '{"key": "sk-42"}'),)
    reply.receive(Finished(FinishReason.STOP, "", Tally().timings(), calls))
    assert lines(path)[-1]["calls"] == [{"id": "1", "name": "send", "arguments": '{"key": "[redacted]"}'}]


def _round(index: int, texts: list[str], refused: str) -> Round:
    tokens = tuple(Token(5, text, Origin.CORRECTED) for text in texts)
    return Round(index, "draft", 2, tokens, (Proposal(6, refused, "draft"),), (), 0.1, 0.2, 0.3)


def test_a_line_that_was_cut_costs_no_other(tmp_path: Path) -> None:
    """For want of room, or with the program that wrote it."""
    path = tmp_path / "audit.ndjson"
    path.write_text('{"event": "rou')
    log = AuditLog(path)
    log.write([{"n": 1}])
    whole = path.read_text()
    path.unlink()
    path.mkdir()
    log.write([{"n": 2}])
    assert log.trouble is not None
    path.rmdir()
    path.write_text(f'{whole}{{"event": "rou')
    log.write([{"n": 3}])
    log.write([{"n": 4}])
    cut, one, also_cut, *others = path.read_text().splitlines()
    assert cut == also_cut == '{"event": "rou'
    assert [json.loads(line)["n"] for line in (one, *others)] == [1, 3, 4]


def test_files_are_rotated_and_forgotten(tmp_path: Path) -> None:
    """None grows beyond its bound, only so many are kept, and none for longer than wanted."""
    path = tmp_path / "audit"
    log = AuditLog(path, max_bytes=300, keep_n=2, keep_for=timedelta(days=1))
    for number in range(20):
        log.write([{"event": "x", "number": number}])
    assert sorted(file.name for file in tmp_path.iterdir()) == ["audit", "audit.1", "audit.2"]
    kept = [record["number"] for name in ("audit.2", "audit.1", "audit") for record in lines(tmp_path / name)]
    assert kept == list(range(20 - len(kept), 20))
    assert all(file.stat().st_size <= 300 for file in tmp_path.iterdir())
    old = path.stat().st_mtime - timedelta(days=2).total_seconds()
    os.utime(tmp_path / "audit.2", (old, old))
    log.begin({})
    assert not (tmp_path / "audit.2").exists() or (tmp_path / "audit.2").stat().st_mtime > old


def test_a_full_file_is_renamed_by_one_program_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that find it full at once, the second goes on in the new one."""
    path = tmp_path / "audit"
    logs = [AuditLog(path, max_bytes=200, keep_n=5) for _ in range(2)]
    logs[0].write([{"event": "first", "text": "x" * 100}])

    @contextmanager
    def late(folder: Path) -> Iterator[None]:
        monkeypatch.setattr(audit, "file_lock", file_lock)
        logs[1].write([{"event": "second"}])
        with file_lock(folder):
            yield

    monkeypatch.setattr(audit, "file_lock", late)
    logs[0].write([{"event": "third"}])
    told = {file.name: [record["event"] for record in lines(file)] for file in tmp_path.iterdir()}
    assert told == {"audit.1": ["first"], "audit": ["second", "third"]}


def test_files_from_a_time_when_more_were_kept_are_forgotten(tmp_path: Path) -> None:
    """However few are kept now; other files beside them stay."""
    for name in ("audit", *(f"audit.{number}" for number in range(1, 8)), "audit.gz", "audit.99"):
        (tmp_path / name).write_text("{}\n")
    AuditLog(tmp_path / "audit", keep_n=2).begin({})
    assert sorted(file.name for file in tmp_path.iterdir()) == ["audit", "audit.1", "audit.2", "audit.99", "audit.gz"]
