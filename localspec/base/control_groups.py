"""Linux's control groups, by which containers and services bound what a process may use."""

from __future__ import annotations

from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
_PROC = Path("/proc")


def groups(controller: str, proc: Path = _PROC, cgroups: Path = CGROUPS) -> list[Path]:
    """The folders of this process's control groups for a resource, and of all their parents."""
    try:
        lines = [line.split(":", 2) for line in (proc / "self" / "cgroup").read_text().splitlines()]
    except OSError:
        return []
    found: list[Path] = []
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if controllers and controller not in controllers.split(","):
            continue
        root = cgroups / controller if controllers else cgroups
        inside = root / path.strip("/")
        # In a container the path may be the host's, of which only the root exists.
        found += [folder for folder in (inside, *inside.parents) if folder == root or root in folder.parents]
    return found


def processor_quota(proc: Path = _PROC, cgroups: Path = CGROUPS) -> float | None:
    """Processors' worth of time that containers and services leave to this process; None without a limit."""
    quotas = [quota for group in groups("cpu", proc, cgroups) if (quota := _quota(group)) is not None]
    return min(quotas, default=None)


def _quota(group: Path) -> float | None:
    """Processors that one control group allows, by version 2, else by version 1."""
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        try:
            allowed, period = (int(word) for name in names for word in (group / name).read_text().split())
        except (OSError, ValueError):  # no such file, or "max"
            continue
        return allowed / period if allowed > 0 and period > 0 else None
    return None
