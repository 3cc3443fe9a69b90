"""Notes on what else the machine did, from files as Linux writes them."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from localspec.base.errors import CapacityError
from localspec.insight.bench.environment import Snapshot, notes, resident_bytes
from localspec.insight.bench.run import bench_lock

QUIET = Snapshot(at_s=0.0, own_s=0.0, busy_s=100.0, throttled_n=3, clock_ghz=3.5, cores=4)


def later(**changes: float | None) -> Snapshot:
    """Ten seconds on, in which this process used 20 s of the 40 there were."""
    after = dataclasses.replace(QUIET, at_s=10.0, own_s=20.0, busy_s=121.0)
    return dataclasses.replace(after, **changes)  # type: ignore[arg-type]


def test_a_quiet_machine_has_no_notes() -> None:
    """Its own work is no other program's."""
    assert notes(QUIET, later()) == []


def test_other_programs_heat_and_a_sinking_clock_are_noted() -> None:
    """One sentence each."""
    assert notes(QUIET, later(busy_s=132.0)) == ["Other programs used 30% of the processor meanwhile."]
    assert notes(QUIET, later(throttled_n=5)) == ["The processor was slowed down 2 times because of heat."]
    assert notes(QUIET, later(clock_ghz=2.1)) == ["Its clock fell from 3.5 to 2.1 GHz."]


def test_a_system_that_does_not_tell_has_no_notes(tmp_path: Path) -> None:
    """Every file is missing."""
    silent = Snapshot.take(tmp_path)
    assert (silent.busy_s, silent.throttled_n, silent.clock_ghz) == (None, None, None)
    assert notes(silent, silent) == []
    assert (resident_bytes(tmp_path) is None) is (sys.platform != "darwin")


def test_the_files_of_linux_are_read(tmp_path: Path) -> None:
    """Ticks, counts and kilohertz."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "stat").write_text("cpu  100 50 50 900 10 0 0 0 0 0\ncpu0 1 2\n")
    for core, khz in ((0, 2_000_000), (1, 3_000_000)):
        folder = tmp_path / "sys/devices/system/cpu" / f"cpu{core}"
        (folder / "cpufreq").mkdir(parents=True)
        (folder / "thermal_throttle").mkdir()
        (folder / "cpufreq" / "scaling_cur_freq").write_text(f"{khz}\n")
        (folder / "thermal_throttle" / "core_throttle_count").write_text(f"{core + 1}\n")
    snapshot = Snapshot.take(tmp_path)
    assert snapshot.busy_s is not None
    assert snapshot.busy_s > 0
    assert (snapshot.throttled_n, snapshot.clock_ghz) == (3, 2.5)


def test_two_benchmarks_at_once_are_refused() -> None:
    """The second is told so; when the first has ended, it may."""
    with bench_lock(), pytest.raises(CapacityError, match="Another localspec bench is running"), bench_lock():
        pass
    with bench_lock():
        pass
