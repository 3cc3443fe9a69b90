"""Tests of the processors that other programs leave free."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from localspec.base.machine import ProcessorWatch


@dataclass
class Proc:
    """A folder like /proc, and clocks, of a machine with two processors that this process may use, and a third."""

    folder: Path
    now_s: float = 0.0
    own_s: float = 0.0
    programs_s: float = 0.0
    """Of all programs of ordinary priority together, on processors that this process may use."""
    nice_s: float = 0.0
    """Of all programs of low priority together."""
    elsewhere_s: float = 0.0
    """On the third processor."""
    waited_s: float = 0.0
    """Of one of the two threads of this process, which run equally long."""
    is_nice: bool = False
    """True if this process has a low priority."""
    running_n: int | None = None
    """Threads that run at this moment, that of the test among them; None where the system does not tell."""

    def write(self) -> None:
        def row(name: str, user_s: float, nice_s: float = 0.0) -> str:
            idle, given_away = round(self.now_s * 100), round(self.now_s * 70)
            return f"{name} {round(user_s * 100)} {round(nice_s * 100)} 0 {idle} 5 0 0 {given_away} 0 0"

        rows = [row("cpu", 0), row("cpu0", self.programs_s, self.nice_s), row("cpu1", 0), row("cpu2", self.elsewhere_s)]
        running = [] if self.running_n is None else [f"procs_running {self.running_n}"]
        (self.folder / "stat").write_text("\n".join([*rows, "ctxt 12345", *running, ""]))
        for thread in ("7", "8"):
            task = self.folder / "self" / "task" / thread
            task.mkdir(parents=True, exist_ok=True)
            waited_s = self.waited_s if thread == "8" else 0
            (task / "schedstat").write_text(f"{round(self.own_s / 2 * 1e9)} {round(waited_s * 1e9)} 3\n")

    def pass_s(
        self,
        seconds: float,
        *,
        own: float = 0.0,
        others: float = 0.0,
        nice: float = 0.0,
        waited: float = 0.0,
        elsewhere: float = 0.0,
    ) -> None:
        """Let time pass with so many processors in use, or waited for."""
        self.now_s += seconds
        self.own_s += own * seconds
        self.programs_s += (others if self.is_nice else own + others) * seconds
        self.nice_s += (own + nice if self.is_nice else nice) * seconds
        self.waited_s += waited * seconds
        self.elsewhere_s += elsewhere * seconds
        self.write()


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Proc:
    machine = Proc(tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    monkeypatch.setattr(os, "sysconf", lambda name: 100)
    monkeypatch.setattr("time.perf_counter", lambda: machine.now_s)
    monkeypatch.setattr("time.process_time", lambda: machine.own_s)
    machine.write()
    return machine


def test_what_others_use_is_not_free(proc: Proc) -> None:
    """The time of this process does not count, nor that on others' processors, nor what the host gave away."""
    watch = ProcessorWatch(proc.folder)
    proc.pass_s(10, own=1, others=0.75, elsewhere=1)
    assert watch.free_n() == pytest.approx(1.25)
    proc.pass_s(10, own=2)
    assert watch.free_n() == pytest.approx(2)


@pytest.mark.parametrize(("running_n", "free_n"), [(1, 2), (2, 1), (3, 0.5), (9, 0.5), (None, 0.5)])
def test_programs_that_ended_in_a_pause_leave_processors_free(proc: Proc, running_n: int | None, free_n: float) -> None:
    watch = ProcessorWatch(proc.folder)
    for _ in range(2):
        proc.running_n = running_n
        proc.pass_s(10, own=0.5, others=1.5)
        assert watch.free_n(after_pause=True) == pytest.approx(free_n)
    proc.pass_s(10, own=0.5, others=1.5)
    assert watch.free_n() == pytest.approx(0.5)


def test_programs_of_low_priority_make_way(proc: Proc) -> None:
    watch = ProcessorWatch(proc.folder)
    proc.pass_s(10, own=1.9, nice=0.1, waited=0.1)
    assert watch.free_n() == pytest.approx(2)
    # A thread that sleeps nearly all the time tells nothing.
    proc.pass_s(10, own=0.02, nice=0.9, waited=0.05)
    assert watch.free_n() == pytest.approx(2)
    proc.pass_s(10, own=1, nice=0.9)
    assert watch.free_n() == pytest.approx(2)


@pytest.mark.parametrize("is_nice", [False, True])
def test_programs_of_low_priority_count_where_they_do_not_make_way(proc: Proc, is_nice: bool) -> None:
    """Between sessions Linux shares processors fairly, whatever the priorities in them (sched_autogroup)."""
    proc.is_nice = is_nice
    watch = ProcessorWatch(proc.folder)
    proc.pass_s(10, own=1, nice=0.9, waited=0.5)
    assert watch.free_n() == pytest.approx(1.1)
    # With one thread nothing is waited for. Then two are tried again.
    proc.pass_s(10, own=1, nice=1)
    assert watch.free_n() == pytest.approx(1)
    proc.pass_s(10, own=1, nice=1)
    assert watch.free_n() == pytest.approx(2)


def test_programs_of_low_priority_count_always_where_that_is_asked_for(proc: Proc) -> None:
    """A machine that they use is not idle, although this process runs nothing that would have to wait for them."""
    watch = ProcessorWatch(proc.folder, all_priorities=True)
    for waited in (0, 0.5, 0, 0):
        proc.pass_s(10, own=1, nice=0.9, waited=waited)
        assert watch.free_n() == pytest.approx(1.1)


def test_its_age_is_the_time_since_the_latest_count(proc: Proc) -> None:
    watch = ProcessorWatch(proc.folder)
    proc.pass_s(3)
    assert watch.age_s == 3
    watch.free_n()
    assert watch.age_s == 0


@pytest.mark.parametrize("text", [None, "", "cpu0 1 2\n", "cpu0 a b c d e f g h\n", "intr 5\n"])
def test_a_system_that_tells_nothing_has_all_free(proc: Proc, text: str | None) -> None:
    stat = proc.folder / "stat"
    stat.unlink() if text is None else stat.write_text(text)
    watch = ProcessorWatch(proc.folder)
    proc.now_s += 1
    assert watch.free_n() == math.inf
