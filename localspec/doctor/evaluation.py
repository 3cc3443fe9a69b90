"""Whether llama.cpp evaluates: that it loads says little, so a small model is run in a child process.

A build for another processor or another GPU, a compiler's mistake or two C++ libraries in one process end it at the
first prompt, and not before.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

_TIMEOUT_S = 60.0
_CHILD = (sys.executable, "-m", "localspec.doctor.evaluation_child")
_REASONS = {
    signal.SIGILL: "it executes an instruction that this processor does not have",
    signal.SIGSEGV: "it crashes",
    signal.SIGBUS: "it crashes",
    signal.SIGABRT: "it gives up",
    signal.SIGKILL: "the system kills it, mostly for want of memory",
}
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came of it."""

    problem: str = ""
    """A sentence; empty if all went well."""
    device: str = ""
    """What evaluated, in words; empty if nothing did."""


def try_evaluating(command: Sequence[str] = _CHILD, timeout_s: float = _TIMEOUT_S) -> Evaluation:
    """Never raises: what goes wrong is in the answer."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return _failed(f"it has not finished within {timeout_s:.0f} seconds")
    except OSError as error:
        return _failed(f"Python could not be started again ({error.strerror or error})")
    if done.returncode:
        return _failed(_why(done.returncode, done.stderr))
    try:
        return Evaluation(device=str(json.loads(done.stdout.strip().rpartition("\n")[2])["device"]))
    except (ValueError, TypeError, KeyError):
        return _failed("it says something that is not understood")


def _why(code: int, stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    # What comes after the error of a driver only says where it was met.
    said = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")[:_LONGEST].rstrip(".")
    if code > 0:
        return said or "it does not say why"
    died = next((text for name, text in _REASONS.items() if name == -code), f"it dies of signal {-code}")
    return f"{died} ({said})" if said else died


def _failed(why: str) -> Evaluation:
    return Evaluation(f"llama.cpp loads, but does not evaluate a small model: {why}.")
