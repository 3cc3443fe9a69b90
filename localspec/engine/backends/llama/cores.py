"""The number of threads to evaluate with: one a physical core, as far as this process may use them."""

from __future__ import annotations

import os
from pathlib import Path

_SYSFS = Path("/sys/devices/system/cpu")
_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def physical_cores(sysfs: Path = _SYSFS, quota: Path = _CGROUP_QUOTA) -> int:
    """Physical cores this process may run on: two threads of one core only get in each other's way.

    Bounded by the affinity mask and by a container's quota. Where the system tells nothing of its
    topology, logical processors count.
    """
    allowed = _allowed_processors()
    cores = {_siblings(sysfs, processor) for processor in allowed}
    return max(1, min(len(cores), _quota_cores(quota, len(cores))))


def _allowed_processors() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def _siblings(sysfs: Path, processor: int) -> str:
    """A name for the core of a processor: the list of all processors on it."""
    try:
        return (sysfs / f"cpu{processor}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(processor)


def _quota_cores(quota: Path, unlimited: int) -> int:
    """Whole cores' worth of time a container gives."""
    try:
        limit, period = quota.read_text().split()
        return int(limit) // int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return unlimited
