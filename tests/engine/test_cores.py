"""The cores that threads may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from localspec.engine.backends.llama.cores import physical_cores

CORES = "localspec.engine.backends.llama.cores"


class TestCores:
    def test_threads_of_one_core_count_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Four processors on two cores are two; an affinity mask narrows them down."""
        for processor, siblings in enumerate(("0,2", "1,3", "0,2", "1,3")):
            folder = tmp_path / f"cpu{processor}" / "topology"
            folder.mkdir(parents=True)
            (folder / "thread_siblings_list").write_text(siblings + "\n")
        monkeypatch.setattr(f"{CORES}.processor_quota", lambda: None)
        monkeypatch.setattr(f"{CORES}._allowed_processors", lambda: {0, 1, 2, 3})
        assert physical_cores(tmp_path) == 2
        monkeypatch.setattr(f"{CORES}._allowed_processors", lambda: {0, 2})
        assert physical_cores(tmp_path) == 1

    @pytest.mark.parametrize(("quota", "cores"), [(None, 8), (2.5, 2), (0.5, 1), (16.0, 8)])
    def test_a_quota_bounds_them(
        self, quota: float | None, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(f"{CORES}._allowed_processors", lambda: set(range(8)))
        monkeypatch.setattr(f"{CORES}.processor_quota", lambda: quota)
        assert physical_cores(tmp_path) == cores
