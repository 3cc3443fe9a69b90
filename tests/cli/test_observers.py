"""``--metrics``, ``--audit-log`` and the watch where replies are made without a screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localspec.base.errors import EngineError
from localspec.engine.events import DrafterFailure, Round
from localspec.engine.wire import event_from_dict
from localspec.insight.metrics.meters import StoredMetrics
from localspec.insight.metrics.server import MetricsServer
from localspec.store import Store
from tests.cli.conftest import Localspec
from tests.cli.support import FILES, FakePair, FakeWorld
from tests.config.support import configure
from tests.insight.metrics.test_metrics import samples, total

WAYS = [("run", *FILES, "hello"), ("chat", "--plain", *FILES), ("chat", "--json", *FILES)]


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("command", WAYS, ids=lambda command: " ".join(command[:2]))
def test_every_way_to_reply_has_both(localspec: Localspec, tmp_path: Path, command: tuple[str, ...]) -> None:
    """The page is there, and the log has the rounds that ``run --json`` writes."""
    page, log = tmp_path / "localspec.prom", tmp_path / "audit.ndjson"
    stdin = b"" if command[0] == "run" else b"hello\n"
    done = localspec(*command, "--metrics", page, "--audit-log", log, stdin=stdin)
    assert done.code == 0, done.err
    assert f"Metrics are in {page}" in done.err
    said = records(localspec("run", *FILES, "hello", "--json").out)
    rounds = [event_from_dict(each) for each in said if each["event"] == "round"]
    logged = [event_from_dict(each) for each in records(log.read_text()) if each["event"] == "round"]
    assert [_untimed(each) for each in logged] == [_untimed(each) for each in rounds] != []
    tokens_n = sum(len(each.tokens) for each in rounds if isinstance(each, Round))
    counted = samples(page.read_text())
    assert total(counted, "vllm:generation_tokens_total") == tokens_n
    assert total(counted, "vllm:request_success_total") == 1


def _untimed(event: Any) -> tuple[Any, ...]:
    return event.index, event.depth, event.tokens, event.rejected, event.ignored


def test_the_chat_counts_what_its_store_has(localspec: Localspec, tmp_path: Path) -> None:
    """Over several turns, one of them answered anew; the store keeps microseconds."""
    page = tmp_path / "page"
    assert localspec("--plain", *FILES, "--metrics", page, stdin=b"hello\nmore\n/regenerate\n").code == 0
    with_store = Store.open()
    assert samples(page.read_text()) == pytest.approx(samples(StoredMetrics(with_store).page()), abs=1e-4)
    with_store.close()


@pytest.mark.parametrize("command", WAYS[:2], ids=lambda command: command[0])
def test_what_cannot_be_is_refused_before_anything_is_loaded(
    localspec: Localspec, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """A port that is taken, a number that is none, and files that cannot be written."""
    taken = MetricsServer(lambda: "", 0)
    try:
        for option, value, code, sentence in (
            ("--metrics", taken.port, 2, f"Metrics cannot be served on port {taken.port}"),
            ("--metrics", 65536, 2, "a port from 0 to 65535"),
            ("--metrics", tmp_path, 13, "cannot be written"),
            ("--audit-log", tmp_path, 13, "The audit log"),
        ):
            world = FakeWorld()
            done = localspec(*command, option, str(value), world=world)
            assert (done.code, world.loads) == (code, []), done.err
            assert sentence in done.err
    finally:
        taken.close()


def test_what_the_file_of_settings_says_is_only_told(localspec: Localspec, tmp_path: Path) -> None:
    """A second program with the same port goes on without it; ``none`` takes it back."""
    taken = MetricsServer(lambda: "", 0)
    configure(f"[stats]\nmetrics = {taken.port}\n[audit]\naudit_log = {str(tmp_path)!r}\n")
    done = localspec("run", *FILES, "hello")
    assert done.code == 0
    assert f"port {taken.port}" in done.err
    assert "The audit log" in done.err
    assert "Metrics are" not in done.err
    quiet = localspec("run", *FILES, "--metrics", "none", "--audit-log", "none", "hello")
    assert "localspec:" not in quiet.err
    taken.close()


@pytest.mark.parametrize("option", ["--metrics", "--audit-log"])
def test_a_folder_that_is_missing_is_not_made(localspec: Localspec, tmp_path: Path, option: str) -> None:
    """Its name may be a slip, which is told before anything is loaded."""
    done = localspec("run", *FILES, option, tmp_path / "no" / "file", "hello")
    assert done.code == 13
    assert "no such file or directory" in done.err
    assert not (tmp_path / "no").exists()


def test_settings_limit_and_redact_the_log(localspec: Localspec) -> None:
    """A relative name is beside the file of settings."""
    file = configure("[audit]\naudit_log = 'audit'\nredact = ['two', 'end']\nmax_mb = 0.001\nkeep_files = 2\n")
    assert localspec("--plain", *FILES, stdin=b"hello\n" * 6).code == 0
    logs = sorted(path.name for path in file.parent.glob("audit*"))
    assert logs == ["audit", "audit.1", "audit.2"]
    text = "".join((file.parent / name).read_text() for name in logs)
    assert "one " in text
    assert "two" not in text
    assert "[redacted]" in text


def test_a_bad_pattern_is_told_with_its_line(localspec: Localspec) -> None:
    configure("[audit]\nredact = ['(']\n")
    assert "line 2: audit.redact: '(' is no regular expression" in localspec("run", *FILES, "hello").err


def test_a_log_that_breaks_in_the_middle_stops_no_reply(
    localspec: Localspec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said once on standard error, however many replies follow."""
    log = tmp_path / "audit"
    reply = FakePair.reply

    def breaking(self: FakePair, *asked: Any) -> Any:
        if not log.is_dir():
            log.unlink()
            log.mkdir()
        return reply(self, *asked)

    monkeypatch.setattr(FakePair, "reply", breaking)
    done = localspec("--plain", *FILES, "--audit-log", log, stdin=b"hello\nhello\n")
    assert done.code == 0
    assert done.err.count("The audit log") == 1
    assert done.err.count("of the draft's guesses accepted") == 2


def test_a_reply_that_breaks_off_is_logged_and_counted(localspec: Localspec, tmp_path: Path) -> None:
    page, log = tmp_path / "page", tmp_path / "audit"
    world = FakeWorld(reply_error=EngineError("It stopped.", "Try again."))
    for command in WAYS:
        done = localspec(*command, "--metrics", page, "--audit-log", log, world=world, stdin=b"hello\n")
        assert "It stopped." in done.err + done.out
        assert total(samples(page.read_text()), "localspec:failed_replies_total") == 1
        assert records(log.read_text())[-1]["message"] == "It stopped."


@pytest.mark.parametrize(
    ("settings", "told"),
    [("", True), ("watch = false\n", False), ("record_figures = false\n", False)],
    ids=["on", "off", "nothing-on-record"],
)
def test_a_missed_objective_is_told_once(localspec: Localspec, settings: str, told: bool) -> None:
    """At the latest when the chat is left; there is one switch, and without figures nothing to go by."""
    configure(f"[stats]\nmin_speedup = 1000000\n{settings}")
    done = localspec("--plain", *FILES, stdin=b"hello\nhello\n")
    assert done.code == 0
    assert done.err.count("own files: median speed-up is") == told
    store = Store.open()
    assert bool(list(store.runs())) is ("record" not in settings)
    store.close()


def test_a_draft_that_fails_is_told(localspec: Localspec, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the reply, in both texts; the events have it in any case."""
    from dataclasses import replace

    reply = FakePair.reply

    def failing(self: FakePair, *asked: Any) -> Any:
        for event in reply(self, *asked):
            yield (
                replace(event, failures=(DrafterFailure("draft", "It broke."),)) if isinstance(event, Round) else event
            )

    monkeypatch.setattr(FakePair, "reply", failing)
    sentence = "he draft failed and is left out of this reply: It broke."
    assert f"localspec: t{sentence}" in localspec("run", *FILES, "hello").err
    assert f"T{sentence}" in localspec("--plain", *FILES, stdin=b"hello\n").err
