"""The measurement of llama.cpp's kernels: once, in a child process, while the machine has nothing else to do."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localspec.base.machine import ProcessorWatch
from localspec.runtime.speed.kernels import KernelSpeeds
from localspec.runtime.speed.speed_file import MachineSpeed, SpeedFile

_CHILD = (sys.executable, "-P", "-m", "localspec.runtime.speed.measuring_child")
_TIMEOUT_S = 15.0
"""The longest wait; on a quiet machine measuring takes two or three seconds."""
_LOOK_S = 0.05
_WATCH_S = 0.25
_IDLE_LOAD = 0.4
"""The part of its processors that others use on an idle machine at most; or programs for each, over a minute."""


@dataclass(frozen=True, slots=True)
class MeasuredKernels:
    """The result of a measurement."""

    kernels: KernelSpeeds
    steady: bool
    """True if the machine took the same time for the same work."""


Measure = Callable[[int], MeasuredKernels | None]
"""Measures the kernels with a number of threads; None if that was not possible."""


def machine_is_idle() -> bool:
    """True if other programs leave most of the processors free just now; also where the system does not tell.

    The load of the last minute is not asked where more is known: after ``make chat`` it has the compilation in it.
    """
    processors = ProcessorWatch(all_priorities=True)
    time.sleep(_WATCH_S)
    if math.isfinite(free_n := processors.free_n()):
        return free_n > (1 - _IDLE_LOAD) * len(os.sched_getaffinity(0))
    try:
        return os.getloadavg()[0] < _IDLE_LOAD * (os.cpu_count() or 1)
    except OSError:
        return True


def measure_kernels(
    threads: int,
    may_go_on: Callable[[], bool] = lambda: True,
    *,
    command: Sequence[str] = _CHILD,
    timeout_s: float = _TIMEOUT_S,
) -> MeasuredKernels | None:
    """Measure in a child process, which is ended at once when ``may_go_on`` says no. Never raises."""
    try:
        child = subprocess.Popen(
            [*command, str(threads)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None
    deadline = time.monotonic() + timeout_s
    with child:
        while child.poll() is None:
            if time.monotonic() > deadline or not may_go_on():
                child.kill()
                return None
            try:
                child.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                continue
        output = child.stdout.read() if child.stdout else b""
    try:
        data = json.loads(output)
        return MeasuredKernels(KernelSpeeds.from_dict(data), bool(data["steady"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def known_speed(file: SpeedFile, threads: int, measure: Measure = measure_kernels) -> MachineSpeed:
    """All that is known of this machine's speed, measured now if it was not while the machine was quiet."""
    known = file.load()
    if not known.steady and (measured := measure(threads)):
        known = file.keep_kernels(measured.kernels, steady=measured.steady)
    return known.corrected()


def measure_when_idle(threads: int) -> MeasuredKernels | None:
    """Measure unless other programs use the machine."""
    return measure_kernels(threads) if machine_is_idle() else None
