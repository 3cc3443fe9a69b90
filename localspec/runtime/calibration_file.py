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

_FORMAT = 1


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

    def load(self) -> tuple[Costs, dict[str, int]] | None:
        """The costs, and the best number of threads by model; None if the file is missing or damaged."""
        try:
            data: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
            return Costs.from_dict(data["costs"]), {str(k): int(n) for k, n in data["threads"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def save(self, costs: Costs, threads: dict[str, int]) -> None:
        """Keep them; a disk that is full or read-only only means measuring again."""
        text = json.dumps({"costs": costs.to_dict(), "threads": threads})
        with suppress(OSError):
            replace_file(self._path, text.encode(), private=True)

    def refresh(self, costs: Costs) -> None:
        """Replace the measured costs by those that rounds have taught, if the file was worth keeping."""
        taught, kept = costs.taught(), self.load()
        if taught is not None and kept is not None:
            self.save(taught, kept[1])
