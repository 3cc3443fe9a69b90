"""Other activity of the machine during a measurement, as far as the system reports it."""

from __future__ import annotations

import os
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

_ROOT = Path("/")
_BUSY = 0.1
"""The share of the processor used by other programs from which a note is made."""
_SLOWED = 0.85
"""The ratio of clock frequencies below which a note is made."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Counters of the system at a moment; None where it does not report them."""

    at_s: float
    own_s: float
    """Processor time of this process."""
    busy_s: float | None
    """Processor time of everything, this process included."""
    throttled_n: int | None
    """The number of thermal throttling events since the start of the system."""
    clock_ghz: float | None
    cores: int

    @staticmethod
    def take(root: Path = _ROOT) -> Snapshot:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return Snapshot(
            time.monotonic(),
            usage.ru_utime + usage.ru_stime,
            _busy_s(root),
            _throttled(root),
            _clock_ghz(root),
            os.cpu_count() or 1,
        )


def notes(before: Snapshot, after: Snapshot) -> list[str]:
    """Sentences about activity that may have distorted the figures."""
    sentences = []
    span_s = max(after.at_s - before.at_s, 1e-9)
    if before.busy_s is not None and after.busy_s is not None:
        others_s = (after.busy_s - before.busy_s) - (after.own_s - before.own_s)
        share = max(0.0, others_s / span_s / after.cores)
        if share >= _BUSY:
            sentences.append(f"Other programs used {share:.0%} of the processor meanwhile.")
    if before.throttled_n is not None and after.throttled_n is not None and after.throttled_n > before.throttled_n:
        sentences.append(
            f"The processor was slowed down {after.throttled_n - before.throttled_n} times because of heat."
        )
    if before.clock_ghz and after.clock_ghz and after.clock_ghz < _SLOWED * before.clock_ghz:
        sentences.append(f"Its clock fell from {before.clock_ghz:.1f} to {after.clock_ghz:.1f} GHz.")
    return sentences


def resident_bytes(root: Path = _ROOT) -> int | None:
    """The resident memory of this process; on macOS its maximum so far."""
    try:
        pages = int((root / "proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss if sys.platform == "darwin" else None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _busy_s(root: Path) -> float | None:
    try:
        fields = (root / "proc/stat").read_text().split("\n", 1)[0].split()[1:]
        user, nice, system, _idle, _iowait, irq, softirq, *_ = map(int, fields)
    except (OSError, ValueError):
        return None
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def _cores(root: Path, name: str) -> list[int]:
    found = []
    for file in sorted((root / "sys/devices/system/cpu").glob(f"cpu[0-9]*/{name}")):
        try:
            found.append(int(file.read_text()))
        except (OSError, ValueError):
            continue
    return found


def _throttled(root: Path) -> int | None:
    counts = _cores(root, "thermal_throttle/core_throttle_count")
    return sum(counts) if counts else None


def _clock_ghz(root: Path) -> float | None:
    clocks = _cores(root, "cpufreq/scaling_cur_freq")
    return fmean(clocks) / 1e6 if clocks else None
