"""The number of threads to evaluate with: one a physical core, as far as this process may use them."""

from __future__ import annotations

import os
from pathlib import Path

from localspec.base.control_groups import processor_quota

_SYSFS = Path("/sys/devices/system/cpu")


def physical_cores(sysfs: Path = _SYSFS) -> int:
    """Physical cores this process may run on: two threads of one core only get in each other's way.

    Bounded by the affinity mask and by the quotas of containers and services. Where the system tells nothing of its
    topology, logical processors count.
    """
    allowed = _allowed_processors()
    cores = {_siblings(sysfs, processor) for processor in allowed}
    quota = processor_quota()
    return max(1, len(cores) if quota is None else min(len(cores), int(quota)))


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
