"""What the machine is doing, as /proc tells it. Linux only."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_STOLEN, _IDLE, _WAITING = 7, 3, 4
"""Columns of the first line of /proc/stat; the ones after ``_STOLEN`` are counted in others already."""


def process_cpu_s(pid: int) -> float:
    """Processor seconds a process has used so far, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def busy_s() -> float:
    """Processor seconds all programs have used so far, and what the host took away from this machine."""
    columns = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1 : _STOLEN + 2]]
    return (sum(columns) - columns[_IDLE] - columns[_WAITING]) / _TICKS_PER_S


def memory_mb(pid: int) -> dict[str, float]:
    """Megabytes of a process: resident, its own, mapped from files, and at most so far."""
    status = _fields(Path(f"/proc/{pid}/status").read_text())
    names = {"rss": "VmRSS", "anon": "RssAnon", "file": "RssFile", "peak": "VmHWM"}
    return {name: status[field] * 1024 / 1e6 for name, field in names.items()}


def available_bytes() -> int:
    """Memory that can be had without swapping."""
    return _fields(Path("/proc/meminfo").read_text())["MemAvailable"] * 1024


def processor() -> str:
    """The processor's name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _fields(text: str) -> dict[str, int]:
    """Lines like ``VmRSS:   1234 kB``."""
    pairs = (line.split(":", 1) for line in text.splitlines() if line.endswith(" kB"))
    return {name: int(value.split()[0]) for name, value in pairs}
