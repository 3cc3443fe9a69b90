"""The file of this machine's speed: the measured kernels, the pairs that ran, the accepted proposals.

One JSON file. Losing it costs a second of measuring, so whatever is wrong with it, it counts as empty.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from math import exp, inf, log
from pathlib import Path
from statistics import fmean
from typing import Any

from localspec.base.file_lock import folder_lock
from localspec.base.paths import user_paths
from localspec.base.shared_file import replace_file
from localspec.models.pairs.expectation import MEASURED, Expectation
from localspec.models.token_work import TokenWork
from localspec.runtime.calibration_file import DAMAGED
from localspec.runtime.speed.kernels import KernelSpeeds

_FORMAT = 1
_MOST_RUNS = 200
_RATE = 0.2
"""The weight of the latest reply in the figures of a pair, once there are several."""
_MEMORY_N = 2000.0
"""Judged proposals of a kind that are remembered; older ones fade."""
_TOY_BYTES = 10**8
"""A target of fewer bytes, as the built-in one, says nothing about others.

Little of its time goes into its weights, and nearly all guesses for it are right.
"""
_LARGEST_FACTOR = 4.0
"""The most that replies may correct the measurement by."""


def machine_name(system_info: str, threads: int, devices: Sequence[str]) -> str:
    """A name for all that speed depends on beside the model: the processor, llama.cpp's build, threads and GPUs."""
    about = (version("llama-cpp-python"), platform.machine(), platform.processor(), os.cpu_count())
    return hashlib.sha256(repr((*about, system_info, threads, *devices)).encode()).hexdigest()[:32]


def run_key(*files: str) -> str:
    """The name of a pair among the runs: the names of its target and its draft."""
    return " + ".join(files)


@dataclass(frozen=True, slots=True)
class PairRun:
    """The figures of a pair's replies on this machine."""

    work: TokenWork
    """The target's."""
    plain_per_second: float
    per_second: float
    drafted: bool
    replies_n: int = 1

    @property
    def is_of_a_toy(self) -> bool:
        return self.work.bytes_read < _TOY_BYTES

    @property
    def expectation(self) -> Expectation:
        with_draft = self.per_second if self.drafted else None
        return Expectation(self.plain_per_second, with_draft, MEASURED, self.replies_n)

    def after(self, latest: PairRun) -> PairRun:
        """The figures with one more reply."""
        rate = max(_RATE, 1 / (self.replies_n + 1))
        return replace(
            latest,
            plain_per_second=_moved(self.plain_per_second, latest.plain_per_second, rate),
            per_second=_moved(self.per_second, latest.per_second, rate),
            drafted=self.drafted or latest.drafted,
            replies_n=self.replies_n + 1,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "work": self.work.to_dict(),
            "plain_per_second": self.plain_per_second,
            "per_second": self.per_second,
            "drafted": self.drafted,
            "replies_n": self.replies_n,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> PairRun:
        """Undo ``to_dict``. Raises KeyError, TypeError, ValueError or AttributeError if it is something else."""
        plain, speed, replies_n = float(data["plain_per_second"]), float(data["per_second"]), int(data["replies_n"])
        if not (0 < plain < 1e6 and 0 < speed < 1e6 and replies_n > 0):
            raise ValueError("these are no speeds")
        return PairRun(TokenWork.from_dict(data["work"]), plain, speed, bool(data["drafted"]), replies_n)


@dataclass(frozen=True, slots=True)
class MachineSpeed:
    """All that is known of one machine, llama.cpp's build and number of threads."""

    machine: str
    """The name of the three, from ``machine_name``."""
    kernels: KernelSpeeds | None = None
    steady: bool = False
    """True if the machine was quiet while the kernels were measured."""
    runs: Mapping[str, PairRun] = field(default_factory=dict)
    """The runs of pairs by ``run_key``."""
    acceptance: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Accepted and judged proposals, by kind of drafter."""

    def corrected(self) -> MachineSpeed:
        """The same, with factors for the kernels by what models that ran took."""
        if self.kernels is None:
            return self
        logs: dict[str, list[float]] = {}
        bare = replace(self.kernels, factors={})
        for run in self.runs.values():
            if run.is_of_a_toy:
                continue
            expected = 1 / bare.round_s(run.work)
            logs.setdefault(run.work.main_type, []).append(log(expected / run.plain_per_second))
        bound = log(_LARGEST_FACTOR)
        factors = {kind: exp(min(max(fmean(seen), -bound), bound)) for kind, seen in logs.items()}
        return replace(self, kernels=replace(bare, factors=factors))

    def with_run(self, key: str, run: PairRun, accepted: Mapping[str, tuple[float, float]]) -> MachineSpeed:
        """The same after a reply of a pair, whose proposals were ``accepted``."""
        before = self.runs.get(key)
        runs = {name: each for name, each in self.runs.items() if name != key}
        runs[key] = before.after(run) if before and before.work == run.work else run
        kept = dict(list(runs.items())[-_MOST_RUNS:])
        acceptance = dict(self.acceptance)
        for kind, (good, judged) in () if run.is_of_a_toy else accepted.items():
            old_good, old_judged = acceptance.get(kind, (0.0, 0.0))
            fading = min(1.0, _MEMORY_N / (old_judged + judged)) if old_judged + judged else 1.0
            acceptance[kind] = (fading * (old_good + good), fading * (old_judged + judged))
        return replace(self, runs=kept, acceptance=acceptance)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "machine": self.machine,
            "kernels": self.kernels.to_dict() if self.kernels else None,
            "steady": self.steady,
            "runs": {key: run.to_dict() for key, run in self.runs.items()},
            "acceptance": {kind: list(counts) for kind, counts in self.acceptance.items()},
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> MachineSpeed:
        """Undo ``to_dict``. Raises KeyError, TypeError, ValueError or AttributeError if it is something else."""
        if data["format"] != _FORMAT:
            raise ValueError("this is another format")
        acceptance = {str(kind): (float(good), float(n)) for kind, (good, n) in data["acceptance"].items()}
        if not all(0 <= good <= n < inf for good, n in acceptance.values()):
            raise ValueError("these are no proposals")
        return MachineSpeed(
            machine=str(data["machine"]),
            kernels=KernelSpeeds.from_dict(data["kernels"]) if data["kernels"] else None,
            steady=bool(data["steady"]),
            runs={str(key): PairRun.from_dict(run) for key, run in data["runs"].items()},
            acceptance=acceptance,
        )


class SpeedFile:
    """The file with what is known; of another machine it counts as empty."""

    def __init__(self, machine: str, path: Path | None = None) -> None:
        self._machine = machine
        self._path = path or user_paths().data / "speed" / "machine.json"

    def load(self) -> MachineSpeed:
        with suppress(*DAMAGED):
            found = MachineSpeed.from_dict(json.loads(self._path.read_text(encoding="utf-8")))
            if found.machine == self._machine:
                return found
        return MachineSpeed(self._machine)

    def keep_kernels(self, kernels: KernelSpeeds, *, steady: bool) -> MachineSpeed:
        """Keep a measurement, and return all that is known. A full disk only means measuring again."""
        with suppress(OSError), folder_lock(self._path):
            return self._write(replace(self.load(), kernels=kernels, steady=steady))
        return replace(self.load(), kernels=kernels, steady=steady)

    def keep_run(self, key: str, run: PairRun, accepted: Mapping[str, tuple[float, float]]) -> None:
        """Keep the figures of a reply."""
        with suppress(OSError), folder_lock(self._path):
            self._write(self.load().with_run(key, run, accepted))

    def _write(self, known: MachineSpeed) -> MachineSpeed:
        replace_file(self._path, json.dumps(known.to_dict()).encode(), private=True)
        return known


def _moved(before: float, latest: float, rate: float) -> float:
    return before + rate * (latest - before)
