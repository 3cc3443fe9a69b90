"""Measured costs on disk: one small JSON file for each pair, library, machine and way of loading.

Losing them costs two seconds at the next load, so whatever is wrong with a file, it is measured again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from localspec.base.file_identity import sample_digest
from localspec.base.shared_file import replace_file
from localspec.engine.costs import Costs
from localspec.engine.reading import ReadingPolicy

_FORMAT = 6
DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""The errors of reading a file of figures that is missing or damaged."""


def calibration_key(files: Sequence[Path], circumstances: Sequence[object]) -> str:
    """A name for all that costs depend on: the models, llama.cpp's build, the machine, and the way of loading.

    A model is known by its size and its first and last megabyte: reading all of it would take longer than
    measuring.
    """
    digest = hashlib.sha256()
    for file in files:
        digest.update(sample_digest(file))
    about = (_FORMAT, version("llama-cpp-python"), platform.machine(), platform.processor(), os.cpu_count())
    digest.update(repr((*about, *circumstances)).encode())
    return digest.hexdigest()[:32]


class CalibrationFile:
    """The file with the costs of one key."""

    def __init__(self, folder: Path, key: str) -> None:
        self._path = folder / f"{key}.json"

    def load(self) -> tuple[Costs, dict[str, int], bool] | None:
        """The costs, the best number of threads by model, and whether short texts are faster in their own context.

        None if the file is missing or damaged.
        """
        try:
            data = self._data()
            threads = {str(k): int(n) for k, n in data["threads"].items()}
            if min(threads.values(), default=1) < 1:
                return None
            return Costs.from_dict(data["costs"]), threads, bool(data["short_context"])
        except DAMAGED:
            return None

    def save(
        self, costs: Costs, threads: dict[str, int], short_context: bool, reading: ReadingPolicy | None = None
    ) -> None:
        """Keep them, and what the file has of ``reading`` where none is given.

        A disk that is full or read-only only means measuring again.
        """
        data: dict[str, Any] = {"costs": costs.to_dict(), "threads": threads, "short_context": short_context}
        with suppress(*DAMAGED):
            data["reading"] = reading.to_dict() if reading else self._data()["reading"]
        with suppress(OSError):
            replace_file(self._path, json.dumps(data).encode(), private=True)

    def recall(self, reading: ReadingPolicy) -> None:
        """Let ``reading`` go on from what is on disk, if anything is."""
        with suppress(*DAMAGED):
            reading.remember(self._data()["reading"])

    def refresh(self, costs: Costs, reading: ReadingPolicy | None = None) -> None:
        """Keep what replies taught, of costs and of ``reading``, if the file was worth keeping."""
        if kept := self.load():
            measured, threads, short_context = kept
            self.save(costs.taught() or measured, threads, short_context, reading)

    def _data(self) -> dict[str, Any]:
        """Raises one of ``DAMAGED``."""
        data: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
        return data
