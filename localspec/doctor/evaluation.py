"""The trial evaluation of a small model in a child process.

A build for another processor or GPU, a miscompilation, or two C++ libraries in one process crash llama.cpp only at the
first prompt, not when it is loaded.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from localspec.base.child_exit import why_it_ended

_TIMEOUT_S = 60.0
_CHILD = (sys.executable, "-P", "-m", "localspec.doctor.evaluation_child")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of the trial."""

    problem: str = ""
    """A sentence; empty if all went well."""
    device: str = ""
    """The device that evaluated, in words; empty after a failure."""


def try_evaluating(command: Sequence[str] = _CHILD, timeout_s: float = _TIMEOUT_S) -> Evaluation:
    """Run the trial. Never raises: a failure is in the result."""
    try:
        done = subprocess.run(
            command, capture_output=True, errors="replace", timeout=timeout_s, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return _failed(f"it did not finish within {timeout_s:.0f} seconds")
    except OSError as error:
        return _failed(f"Python could not be started again ({error.strerror or error})")
    if done.returncode:
        return _failed(why_it_ended(done.returncode, done.stderr))
    try:
        return Evaluation(device=str(json.loads(done.stdout.strip().rpartition("\n")[2])["device"]))
    except (ValueError, TypeError, KeyError):
        return _failed("its report could not be read")


def _failed(why: str) -> Evaluation:
    return Evaluation(f"llama.cpp loads, but does not evaluate a small model: {why}.")
