"""``localspec stats``, ``metrics`` and ``history disagreements``: insight without a model."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from localspec.cli.stats_text import watch_lines
from localspec.insight.stats.objectives import Miss, Objectives
from localspec.store import database_file
from tests.cli.conftest import Localspec
from tests.config.support import configure
from tests.insight.stats.support import Kind, open_filled


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def replies() -> int:
    """Of two pairs; how many."""
    good, bad = Kind(rounds_n=20), Kind(factor=0.02, draft_bytes=101, rounds_n=20)
    other = Kind(pair="other", temperature=0.0, drafter="suffix")
    open_filled(database_file(), (good,) * 60 + (bad,) * 10, (other,) * 12).close()
    return 82


def test_nothing_yet_says_what_to_do(localspec: Localspec) -> None:
    """And no file is made by looking."""
    for arguments in (("stats",), ("stats", "--by", "day"), ("stats", "--watch")):
        done = localspec(*arguments)
        assert (done.code, done.err) == (0, "")
        assert "`localspec` opens the chat" in done.out
        assert "record_figures" in done.out
    assert json.loads(localspec("stats", "--json").out)["all"]["replies_n"] == 0
    assert localspec("metrics").out == "# EOF\n"
    assert localspec("history", "disagreements").out == ""
    assert not database_file().exists()


@pytest.mark.parametrize("by", [None, "pair", "drafter", "temperature", "context", "day", "subject"])
def test_every_view_fits_eighty_columns(localspec: Localspec, replies: int, by: str | None) -> None:
    """Without colour, and says what it rests on; JSON has the same replies."""
    arguments = ("stats", "--by", by) if by else ("stats",)
    out = localspec(*arguments).out
    assert out.startswith(f"{replies} replies of 2 pairs")
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out
    record = json.loads(localspec(*arguments, "--json").out)
    assert record["all"]["replies_n"] == replies
    if by:
        assert sum(group["replies_n"] for group in record["groups"].values()) == replies
        assert all(name in out for name in record["groups"])


def test_replies_are_chosen(localspec: Localspec, replies: int) -> None:
    """By pair and by time; nothing left says so."""
    assert localspec("stats", "--pair", "other").out.startswith("12 replies of other")
    assert localspec("stats", "--pair", "own files").out.startswith("No replies match")
    for command in (("stats",), ("history", "disagreements")):
        assert localspec(*command, "--pair", "").code == 2, "as a shell variable that is not set gives it"
    assert localspec("stats", "--since", "2026-11-02", "--pair", "a-pair").out.split()[0] < str(replies)
    for narrowing in (("--pair", "none"), ("--since", "2096-01-01")):
        assert "Without --pair and --since" in localspec("stats", *narrowing).out
        assert "Without --pair and --since" in localspec("stats", "--watch", *narrowing).out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--since", "yesterday"),
        ("--since", "99999999999d"),
        ("--by", "moon"),
        ("--watch", "--by", "pair"),
        ("--min-speedup", "2"),
        ("--watch", "--min-speedup", "0"),
        ("--watch", "--ttft-p95-s", "nan"),
    ],
)
def test_what_makes_no_sense_is_refused(localspec: Localspec, arguments: tuple[str, ...]) -> None:
    """In a sentence."""
    done = localspec("stats", *arguments)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err


def test_a_fall_is_told_with_its_cause(localspec: Localspec, replies: int) -> None:
    """And only the pair's that fell."""
    out = localspec("stats", "--watch").out
    assert "a-pair: acceptance fell from" in out
    assert "the draft changed" in " ".join(out.split())
    assert "No objectives are set." in out
    assert "No pair has become worse" in localspec("stats", "--watch", "--pair", "other").out
    record = json.loads(localspec("stats", "--watch", "--json").out)
    assert {notice["pair"] for notice in record["notices"]} == {"a-pair"}
    assert record["misses"] == []
    assert max(map(len, out.splitlines())) <= 80


def test_objectives_come_from_the_settings_or_the_options(localspec: Localspec, replies: int) -> None:
    """The option beats the setting."""
    configure("[stats]\nmin_speedup = 1000\n")
    out = localspec("stats", "--watch").out
    assert "at least 1000x" in out
    assert max(map(len, out.splitlines())) <= 80
    assert "Every objective was met" in localspec("stats", "--watch", "--min-speedup", "0.001").out
    misses = json.loads(localspec("stats", "--watch", "--ttft-p95-s", "0.0001", "--json").out)["misses"]
    assert {miss["objective"] for miss in misses} == {"min_speedup", "ttft_p95_s"}


def test_metrics_go_where_they_are_wanted(localspec: Localspec, replies: int, tmp_path: Path) -> None:
    """The same text on standard output and in a file."""
    out = localspec("metrics").out
    assert f'vllm:request_success_total{{model_name="a-pair",finished_reason="stop"}} {replies - 12}' in out
    file = tmp_path / "localspec.prom"
    assert localspec("metrics", "--file", file).code == 0
    assert file.read_text(encoding="utf-8") == out
    assert localspec("metrics", "--names").out.startswith("| Name |")
    assert localspec("metrics", "--file", tmp_path / "no" / "file").code == 13
    assert localspec("metrics", "--file", file, "--names").code == 2
    assert localspec("metrics", "--port", "70000").code == 2


def test_disagreements_of_copies_are_exported_only_by_name(localspec: Localspec, replies: int, tmp_path: Path) -> None:
    """Training data would have them twice."""
    before = localspec("history", "disagreements").out
    file = tmp_path / "all.json"
    assert localspec("history", "export", "--all", "-o", file).code == 0
    copies = json.loads(localspec("history", "import", file, "--copy", "--json").out)["imported"]
    assert localspec("history", "disagreements").out == before != ""
    assert len(localspec("history", "disagreements", *copies).out) == len(before)


def test_disagreements_are_exported(localspec: Localspec, replies: int, tmp_path: Path) -> None:
    """A JSON object a line, in a file that only its owner reads and that was not there."""
    everything = localspec("history", "disagreements")
    records = [json.loads(line) for line in everything.out.splitlines()]
    assert f"{len(records):,} disagreements." in everything.err
    assert {record["pair"] for record in records} == {"a-pair", "other"}
    file = tmp_path / "out.jsonl"
    done = localspec("history", "disagreements", "--pair", "other", "-o", file)
    assert (done.code, done.out) == (0, "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [record for record in records if record["pair"] == "other"]
    assert localspec("history", "disagreements", "-o", file).code == 2
    assert localspec("history", "disagreements", "-o", tmp_path / "no" / "out").code == 13
    assert localspec("history", "disagreements", "zz").code == 4


def test_rules_redact(localspec: Localspec, replies: int, tmp_path: Path) -> None:
    """What they match is in no line; rules that are none are refused with their line."""
    rules = tmp_path / "rules"
    rules.write_text("Question \\d+\n", encoding="utf-8")
    out = localspec("history", "disagreements", "--redact", rules).out
    assert "[redacted]" in out
    assert "Question" not in out
    rules.write_text("(", encoding="utf-8")
    done = localspec("history", "disagreements", "--redact", rules)
    assert (done.code, done.out) == (3, "")
    assert "line 1" in done.err
    assert localspec("history", "disagreements", "--redact", tmp_path / "none").code == 4


@pytest.mark.parametrize(("days", "shown"), [(("2026-05-01",), "1 day"), (("2026-05-01", "2026-05-02"), "2 days")])
def test_the_days_of_missed_objectives_are_counted(days: tuple[str, ...], shown: str) -> None:
    misses = [Miss(day, "a-pair", "min_speedup", 2.0, 1.0, 5) for day in days]
    assert f"Objectives were missed on {shown}." in list(watch_lines([], misses, Objectives(min_speedup=2.0), 5))
