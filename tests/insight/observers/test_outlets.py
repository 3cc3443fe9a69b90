"""Metrics and the audit log of replies that are being made have what the events and the store have."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from localspec.base.errors import EngineError, OutputError, UsageError
from localspec.engine.events import Event, Round, Started
from localspec.engine.wire import event_from_dict
from localspec.insight.metrics.meters import StoredMetrics
from localspec.insight.metrics.server import MetricsServer
from localspec.insight.observers import ObserverGroup
from localspec.insight.observers.metering import Metering
from localspec.insight.observers.observers import Auditing
from localspec.insight.stats.audit import AuditLog
from localspec.store import Store
from tests.insight.metrics.test_metrics import samples, total
from tests.insight.observers.support import make
from tests.store.support import ABOUT, events

REPLIES = (events("one two", "three four five"), events("six"), events("seven eight", "nine"))


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_page_and_store_and_events_agree(tmp_path: Path) -> None:
    """After replies that finished and one that broke off."""
    file, store, metering = tmp_path / "localspec.prom", Store.in_memory(), Metering()
    metering.give(file)
    for said in REPLIES[:2]:
        make(store, metering, ABOUT, said, None)
    make(store, metering, ABOUT, REPLIES[2][:-1], EngineError("It stopped."))
    page = samples(file.read_text(encoding="utf-8"))
    assert page == pytest.approx(samples(StoredMetrics(store).page()))
    rounds = [event for said in REPLIES for event in said if isinstance(event, Round)]
    assert total(page, "vllm:generation_tokens_total") == sum(len(round_.tokens) for round_ in rounds) == 9
    assert total(page, "vllm:spec_decode_num_draft_tokens_total") == sum(round_.proposed_n for round_ in rounds)
    assert total(page, "vllm:spec_decode_num_accepted_tokens_total") == sum(round_.accepted_n for round_ in rounds)
    assert total(page, "vllm:request_success_total") == 2
    assert total(page, "localspec:failed_replies_total") == 1
    assert total(page, "vllm:num_requests_running") == 0
    store.close()


def test_a_port_shows_a_reply_in_its_middle() -> None:
    metering = Metering()
    assert metering.give(0)
    assert not metering.give(0)
    url = re.search(r"http://[\d.:]+/metrics", metering.where)
    assert url is not None
    follows = metering.begin(ABOUT)
    for event in REPLIES[0][:2]:
        follows.receive(event)
    with urllib.request.urlopen(url[0]) as answer:
        page = samples(answer.read().decode())
    assert total(page, "vllm:generation_tokens_total") == 2
    assert total(page, "vllm:num_requests_running") == 1
    metering.close()


def test_another_outlet_goes_on_counting(tmp_path: Path) -> None:
    """And one that cannot be leaves the former in place."""
    taken = MetricsServer(lambda: "", 0)
    metering = Metering()
    metering.give(tmp_path / "a")
    make(Store.in_memory(), metering, ABOUT, REPLIES[0], None)
    with pytest.raises(UsageError, match=f"port {taken.port}"):
        metering.give(taken.port)
    with pytest.raises(OutputError, match="cannot be written"):
        metering.give(tmp_path / "no" / "file")
    make(Store.in_memory(), metering, ABOUT, REPLIES[0], None)
    assert total(samples((tmp_path / "a").read_text()), "vllm:request_success_total") == 2
    metering.give(tmp_path / "b")
    assert samples((tmp_path / "b").read_text()) == samples((tmp_path / "a").read_text())
    taken.close()


def test_a_file_that_is_gone_is_told_once_and_stops_nothing(tmp_path: Path) -> None:
    """Until it is right again; then it has all there was."""
    folder = tmp_path / "figures"
    folder.mkdir()
    metering = Metering()
    metering.give(folder / "page")
    (folder / "page").unlink()
    folder.rmdir()
    for _ in range(2):
        make(Store.in_memory(), metering, ABOUT, REPLIES[1], None)
    (news,) = metering.news()
    assert "cannot be written" in news.text
    folder.mkdir()
    make(Store.in_memory(), metering, ABOUT, REPLIES[1], None)
    assert total(samples((folder / "page").read_text()), "vllm:request_success_total") == 3
    folder.joinpath("page").unlink()
    folder.rmdir()
    make(Store.in_memory(), metering, ABOUT, REPLIES[1], None)
    assert len(metering.news()) == 1


def test_audit_lines_are_the_events(tmp_path: Path) -> None:
    """With the message that the history has them under, and how each ended."""
    path, store = tmp_path / "audit.ndjson", Store.in_memory()
    auditing = Auditing(AuditLog(path))
    make(store, auditing, ABOUT, REPLIES[0], None)
    make(store, auditing, ABOUT, REPLIES[1][:2], EngineError("It stopped."))
    found = records(path)
    logged: list[Event] = [event_from_dict(each) for each in found if each["event"] in ("start", "round")]
    assert logged == [each for said in (REPLIES[0], REPLIES[1]) for each in said if isinstance(each, Started | Round)]
    assert [each["event"] for each in found if each["event"] not in ("start", "round")] == [
        "begin",
        "end",
        "begin",
        "error",
    ]
    messages = [each["message"] for each in found if each["event"] == "begin"]
    assert messages == [run.message for run in store.runs()]
    store.close()


def test_a_log_that_cannot_be_written_is_told_once(tmp_path: Path) -> None:
    """And again when it fails anew; replies go on."""
    path, store = tmp_path / "audit", Store.in_memory()
    auditing = Auditing(AuditLog(path))
    path.mkdir()
    for _ in range(2):
        make(store, auditing, ABOUT, REPLIES[1], None)
    (news,) = auditing.news()
    assert "audit log" in news.text
    assert auditing.news() == []
    path.rmdir()
    make(store, auditing, ABOUT, REPLIES[1], None)
    assert auditing.news() == []
    path.unlink()
    path.mkdir()
    make(store, auditing, ABOUT, REPLIES[1], None)
    assert len(auditing.news()) == 1
    assert len(list(store.runs())) == 4
    store.close()


def test_nothing_is_logged_after_the_end(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    follows = Auditing(AuditLog(path)).begin(ABOUT)
    for event in (*REPLIES[1], REPLIES[1][-1]):
        follows.receive(event)
    follows.fail(EngineError("It stopped."))
    assert [each["event"] for each in records(path)] == ["begin", "start", "round", "end"]


def test_everybody_hears_the_same(tmp_path: Path) -> None:
    """In the order it is said."""
    one, other = Auditing(AuditLog(tmp_path / "a")), Auditing(AuditLog(tmp_path / "b"))
    make(Store.in_memory(), ObserverGroup([one, other]), ABOUT, REPLIES[0], None)
    make(Store.in_memory(), ObserverGroup([one, other]), ABOUT, REPLIES[1][:1], EngineError("It stopped."))
    told = [
        [{**each, "at": "", "reply": ""} for each in records(tmp_path / name) if each["event"] != "begin"]
        for name in "ab"
    ]
    assert told[0] == told[1] != []
