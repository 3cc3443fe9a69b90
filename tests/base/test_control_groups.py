"""Tests of the quotas that containers and services set."""

from __future__ import annotations

from pathlib import Path

import pytest

from localspec.base.control_groups import processor_quota


@pytest.mark.parametrize(
    ("groups", "files", "quota"),
    [
        ("0::/", {"cpu.max": "max 100000"}, None),
        ("0::/", {"cpu.max": "150000 100000"}, 1.5),
        ("0::/user/serve", {"user/cpu.max": "max 100000", "user/serve/cpu.max": "300000 100000"}, 3.0),
        ("0::/user/serve", {"user/cpu.max": "50000 100000", "user/serve/cpu.max": "300000 100000"}, 0.5),
        ("4:cpu,cpuacct:/a", {"cpu/a/cpu.cfs_quota_us": "200000", "cpu/a/cpu.cfs_period_us": "100000"}, 2.0),
        ("4:cpu,cpuacct:/a", {"cpu/a/cpu.cfs_quota_us": "-1", "cpu/a/cpu.cfs_period_us": "100000"}, None),
        ("4:memory:/a", {"memory/a/cpu.max": "100000 100000"}, None),
        ("0::/", {"cpu.max": "nonsense"}, None),
    ],
)
def test_the_smallest_quota_of_all_groups_counts(
    groups: str, files: dict[str, str], quota: float | None, tmp_path: Path
) -> None:
    """Of version 2 of control groups, and of version 1: a service has one of its own inside its user's."""
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text(f"{groups}\n")
    for name, text in files.items():
        file = tmp_path / "groups" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    assert processor_quota(tmp_path / "proc", tmp_path / "groups") == quota


def test_without_control_groups_there_is_no_quota(tmp_path: Path) -> None:
    assert processor_quota(tmp_path, tmp_path) is None
