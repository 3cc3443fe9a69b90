"""The cores that threads may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from localspec.engine.backends.llama.cores import physical_cores


class TestCores:
    def test_threads_of_one_core_count_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Four processors on two cores are two; an affinity mask narrows them down."""
        for processor, siblings in enumerate(("0,2", "1,3", "0,2", "1,3")):
            folder = tmp_path / f"cpu{processor}" / "topology"
            folder.mkdir(parents=True)
            (folder / "thread_siblings_list").write_text(siblings + "\n")
        monkeypatch.setattr("localspec.engine.backends.llama.cores._allowed_processors", lambda: {0, 1, 2, 3})
        assert physical_cores(tmp_path, tmp_path / "none") == 2
        monkeypatch.setattr("localspec.engine.backends.llama.cores._allowed_processors", lambda: {0, 2})
        assert physical_cores(tmp_path, tmp_path / "none") == 1

    @pytest.mark.parametrize(("quota", "cores"), [("max 100000", 8), ("250000 100000", 2), ("50000 100000", 1)])
    def test_a_containers_quota_bounds_them(
        self, quota: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("localspec.engine.backends.llama.cores._allowed_processors", lambda: set(range(8)))
        (tmp_path / "cpu.max").write_text(quota)
        assert physical_cores(tmp_path, tmp_path / "cpu.max") == cores
