"""The memory that this process may use, this machine's source of power, and its processors."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from localspec.base.control_groups import CGROUPS, groups

_PROC = Path("/proc")
_POWER = Path("/sys/class/power_supply")
_BUSY_COLUMNS = (1, 3, 6, 7)
"""Columns of /proc/stat: programs of ordinary priority, the system, and interrupts of both kinds.

Time that a host gives to other machines is left out: all processors lack it alike, so fewer threads gain nothing.
"""
_LOW_PRIORITY_COLUMN = 2
_HINDERED = 0.2
"""Programs of low priority count where a thread of this process waits for so large a part of its time beside them."""
_LITTLE = 0.1
"""Programs that use fewer processors than this do not hinder; a thread that ran and waited for less tells nothing."""
_COUNTED_S = 15.0
"""Seconds that they count after the latest hindrance: with fewer threads there may be none to see."""


@dataclass(frozen=True, slots=True)
class MachineMemory:
    """Bytes of RAM; None where the system does not report them."""

    physical: int | None
    """All RAM, or the limit of a container."""
    available: int | None
    """The amount that can be allocated now without swapping or killing."""


def memory(proc: Path = _PROC, cgroups: Path = CGROUPS) -> MachineMemory:
    """RAM, bounded by the limits of every container this process runs in."""
    limits = [_system(proc), *(_limited(group) for group in groups("memory", proc, cgroups))]
    return MachineMemory(
        min((limit.physical for limit in limits if limit.physical is not None), default=None),
        min((limit.available for limit in limits if limit.available is not None), default=None),
    )


def on_battery(power: Path = _POWER) -> bool:
    """True if a battery of this machine is being emptied; False where the system does not tell (as macOS)."""
    for supply in power.glob("*"):
        try:
            if (supply / "type").read_text().strip() == "Battery" and (
                (supply / "status").read_text().strip() == "Discharging"
            ):
                return True
        except OSError:
            continue
    return False


def waited_s(proc: Path = _PROC) -> float:
    """Seconds that the calling thread has been ready to run without a processor; 0 where the system does not tell."""
    return _ran_and_waited_s(proc / "thread-self")[1]


@dataclass(frozen=True, slots=True)
class _ProcessorUse:
    """Seconds of processors since some time in the past."""

    at_s: float
    """The clock."""
    others_s: float
    """Used by other programs."""
    ordinary_s: float
    """Used by other programs of ordinary priority; less where this one has a low one."""
    threads: Mapping[str, tuple[float, float]]
    """The seconds that each thread of this process ran, and those that it was ready to run and had no processor."""
    running_n: float
    """Threads of all programs that run or wait for a processor at this moment; infinite where that is not known."""


class ProcessorWatch:
    """Measures the processors that other programs leave free, from one call to the next.

    A program of low priority makes way, but only for programs of its own group: Linux groups programs by session
    (sched_autogroup) or by service, and shares processors fairly between groups, whatever the priorities in them. So
    such programs count where a thread of this process waits beside them.
    """

    def __init__(self, proc: Path = _PROC, *, all_priorities: bool = False) -> None:
        """``all_priorities``: programs of low priority always count."""
        self._proc = proc
        self._allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set[int]()
        self._latest_s = time.perf_counter()
        self._latest = self._sample()
        self._hindered_until_s = math.inf if all_priorities else -math.inf
        """Programs of low priority count until then."""

    @property
    def age_s(self) -> float:
        """Seconds since the latest call of ``free_n``."""
        return time.perf_counter() - self._latest_s

    def free_n(self, *, after_pause: bool = False) -> float:
        """Processors that this process may use, less those that others used since the latest call.

        With ``after_pause`` others count only as far as they run at this moment, too: they may have come and gone.
        Infinite where the system does not tell. The system counts in hundredths of a second.
        """
        before = self._latest
        self._latest_s = time.perf_counter()
        self._latest = now = self._sample()
        if now is None or before is None or now.at_s <= before.at_s:
            return math.inf
        elapsed_s = now.at_s - before.at_s
        all_others = max(0.0, now.others_s - before.others_s) / elapsed_s
        ordinary = max(0.0, now.ordinary_s - before.ordinary_s) / elapsed_s
        if all_others - ordinary >= _LITTLE and _most_waiting(before, now) >= _HINDERED:
            self._hindered_until_s = max(self._hindered_until_s, now.at_s + _COUNTED_S)
        used = all_others if now.at_s < self._hindered_until_s else ordinary
        if after_pause:
            used = min(used, now.running_n - 1)  # this thread runs, too
        return len(self._allowed) - used

    def _sample(self) -> _ProcessorUse | None:
        """None where the system does not tell."""
        own_s, now_s = time.process_time(), time.perf_counter()
        try:
            lines = (self._proc / "stat").read_text().splitlines()
            names = {f"cpu{processor}" for processor in self._allowed}
            rows = [[int(each) for each in line.split()[1:]] for line in lines if line.partition(" ")[0] in names]
            hz = os.sysconf("SC_CLK_TCK")
            ordinary_s = sum(row[column - 1] for row in rows for column in _BUSY_COLUMNS) / hz - own_s
            low_priority_s = sum(row[_LOW_PRIORITY_COLUMN - 1] for row in rows) / hz
            running_n = next((int(line.split()[1]) for line in lines if line.startswith("procs_running ")), math.inf)
        except (OSError, ValueError, IndexError):
            return None
        threads = {thread.name: _ran_and_waited_s(thread) for thread in (self._proc / "self" / "task").glob("*")}
        return _ProcessorUse(now_s, ordinary_s + low_priority_s, ordinary_s, threads, running_n) if rows else None


def _most_waiting(before: _ProcessorUse, now: _ProcessorUse) -> float:
    """The largest part of its time that a thread waited for a processor: a thread that others wait for is enough."""
    most = 0.0
    for thread in before.threads.keys() & now.threads.keys():
        ran_s, waited_s = (new - old for new, old in zip(now.threads[thread], before.threads[thread], strict=True))
        if ran_s + waited_s >= _LITTLE * (now.at_s - before.at_s):
            most = max(most, waited_s / (ran_s + waited_s))
    return most


def _ran_and_waited_s(thread: Path) -> tuple[float, float]:
    """Seconds that the thread of this folder of /proc ran, and waited to run; 0 where the system does not tell."""
    try:
        ran, waited, *_ = (thread / "schedstat").read_text().split()
        return int(ran) / 1e9, int(waited) / 1e9
    except (OSError, ValueError):
        return 0.0, 0.0


def _system(proc: Path) -> MachineMemory:
    try:
        fields = dict(line.split(":", 1) for line in (proc / "meminfo").read_text().splitlines() if ":" in line)
        total, available = (int(fields[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
        return MachineMemory(total, available)
    except (OSError, ValueError, KeyError, IndexError):
        return MachineMemory(_pages(), None)


def _pages() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _limited(group: Path) -> MachineMemory:
    """The limits of one control group, of version 2, else of version 1."""
    for limit, usage, prefix in (
        ("memory.max", "memory.current", ""),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    ):
        try:
            physical = int((group / limit).read_text())
            used = int((group / usage).read_text())
        except (OSError, ValueError):  # no such file, or "max"
            continue
        return MachineMemory(physical, max(0, physical - used + _reclaimable(group, prefix)))
    return MachineMemory(None, None)


def _reclaimable(group: Path, prefix: str) -> int:
    """Bytes of cached file pages, which the system drops on demand; those of mapped weights count as active."""
    try:
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return sum(int(stat.get(f"{prefix}{name}_file", 0)) for name in ("active", "inactive"))
    except (OSError, ValueError):
        return 0
