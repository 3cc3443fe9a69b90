"""The file that keeps a calibration: what is written to it, and when it is not believed."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.costs import Costs, QueryCost
from localspec.engine.reading import ReadingPolicy
from localspec.runtime.calibration_file import CalibrationFile, calibration_key
from localspec.runtime.load import open_pair
from localspec.runtime.opening import PairTarget, calibration_file
from localspec.runtime.options import LoadOptions
from tests.builtin import DRAFT, TARGET
from tests.runtime.calibration.timed_models import Clock, fit, new_tuning

COSTS = b'{"rounds_s": {"1": 1}, "looks": {}, "rollback_s": 0}'


def no_room(*_: object) -> int:
    """What a full disk says."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FullDisk(io.StringIO):
    """An open file on it."""

    write = no_room

    def __init__(self, handle: int) -> None:
        os.close(handle)
        super().__init__()


def test_what_was_not_worth_keeping_is_not_kept_later_either(tmp_path: Path) -> None:
    """Of a busy machine, most prices would still be those of then."""
    costs = Costs({1: 1.0, 8: 2.0})
    for _ in range(100):
        costs.observe_round(8, 3.0)
    file = CalibrationFile(tmp_path, "key")
    file.refresh(costs)
    assert file.load() is None


def test_a_busy_machine_is_not_remembered(clock: Clock, tmp_path: Path) -> None:
    calls = iter(range(10_000))
    file = CalibrationFile(tmp_path, "key")
    fit(new_tuning(clock, lambda batch, threads: 1e-3 * (1 + 3 * (next(calls) % 2))), file)
    assert file.load() is None


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"costs": 1}',
        b'{"costs": {}, "threads": {}}',
        b'{"costs": %s, "threads": {"target": 0}, "short_context": true}' % COSTS,
        b'{"costs": %s, "threads": {"target": 1e999}, "short_context": true}' % COSTS,
    ],
)
def test_a_damaged_file_is_measured_over(clock: Clock, tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "key.json").write_bytes(damage)
    file = CalibrationFile(tmp_path, "key")
    assert file.load() is None
    file.recall(ReadingPolicy(Costs({1: 1.0})))
    fit(new_tuning(clock), file)
    assert file.load() is not None


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    file = CalibrationFile(tmp_path / "file", "key")
    file.save(Costs({1: 1.0}, {"draft": QueryCost(1.0, 1.0)}), {}, short_context=False)
    assert file.load() is None
    assert (tmp_path / "file").read_text() == "not a folder"


@pytest.mark.parametrize("step", ["write", "replace"])
def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Neither a part of a file nor a name for one; what was there before stays."""

    file = CalibrationFile(tmp_path, "key")
    file.save(Costs({1: 1.0}, {"draft": QueryCost(1.0, 1.0)}), {"draft": 2}, short_context=True)
    before = (tmp_path / "key.json").read_bytes()
    if step == "replace":
        monkeypatch.setattr(Path, "replace", no_room)
    else:
        monkeypatch.setattr("localspec.runtime.calibration_file.os.fdopen", lambda handle, *_, **__: FullDisk(handle))
    file.save(Costs({1: 2.0}, {"draft": QueryCost(1.0, 1.0)}), {"draft": 4}, short_context=True)
    assert [path.name for path in tmp_path.iterdir()] == ["key.json"]
    assert (tmp_path / "key.json").read_bytes() == before


def test_a_pair_asks_for_the_costs_of_its_way_of_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []

    class Known(CalibrationFile):
        def __init__(self, folder: Path, key: str) -> None:
            keys.append(key)

        def load(self) -> tuple[Costs, dict[str, int], bool]:
            raise Cancelled  # the key is all that is wanted

    monkeypatch.setattr("localspec.runtime.opening.CalibrationFile", Known)
    options = LoadOptions(TARGET, n_ctx=64, threads=1, device="none")
    with pytest.raises(Cancelled):
        open_pair(options, Cancellation())
    calibration_file(options, cast(PairTarget, SimpleNamespace(device="CPU, 1 thread")))
    assert keys[0] == keys[1]


def test_another_model_or_another_way_has_another_key(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"a" * 100)
    two.write_bytes(b"a" * 99 + b"b")
    keys = {calibration_key([one], ()), calibration_key([two], ()), calibration_key([one], ("8 threads",))}
    assert len(keys) == 3
    assert calibration_key([one], ()) == calibration_key([one], ())


def test_a_pair_is_measured_again_only_where_another_way_of_loading_changes_its_costs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not when caches or replies begin to be kept; with a projector it has one context instead of two.

    Rebuilt for the processor, llama.cpp has other prices under the same version.
    """
    target = cast(PairTarget, SimpleNamespace(device="CPU, 2 threads"))

    def file(draft: Path | None = DRAFT, **options: Any) -> Path:
        return calibration_file(LoadOptions(TARGET, draft, **options), target)._path

    assert file(keep_caches=True, remember_replies=True) == file()
    assert file(projector=TARGET) == file(projector=DRAFT)
    one = {"threads": 1}, {"n_ctx": 512}, {"cache_type_k": "q8_0"}, {"flash_attn": "on"}, {"replies": 2}
    others = [file(), file(None), file(projector=TARGET), *(file(**options) for options in one)]
    monkeypatch.setattr("localspec.engine.backends.llama.native.Native.build", "AVX512 = 1")
    assert len({*others, file()}) == 9
