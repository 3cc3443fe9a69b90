"""The services that commands use, as one object that a test can replace.

The real ones import what they need when they are called: ``localspec --help`` loads none of it.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from localspec.base.errors import UsageError

if TYPE_CHECKING:
    from localspec.doctor.evaluation import Evaluation
    from localspec.doctor.native_probe import NativeReport
    from localspec.engine.cancel import Cancellation
    from localspec.runtime.chat_config import ChatConfig
    from localspec.runtime.interruptible import Opener
    from localspec.runtime.load import OpenPair
    from localspec.runtime.options import LoadOptions, Progress
    from localspec.runtime.speed.measurement import MeasuredKernels


def _open_pair(options: LoadOptions, cancel: Cancellation, progress: Progress | None = None) -> OpenPair:
    from localspec.runtime.load import open_pair

    return open_pair(options, cancel, progress)


def _open_screen(chat_config: ChatConfig) -> None:
    # A start makes little garbage: the collections that it would cause come after the first paint, as one.
    gc.disable()
    try:
        from localspec.tui.app import run_app

        run_app(chat_config)
    finally:
        gc.enable()


def _probe_native() -> NativeReport:
    from localspec.doctor.native_probe import probe_native

    return probe_native()


def _probe_rpc(addresses: str) -> NativeReport:
    from localspec.doctor.native_probe import probe_native

    return probe_native(rpc=addresses)


def _try_evaluating() -> Evaluation:
    from localspec.doctor.evaluation import try_evaluating

    return try_evaluating()


def _measure_kernels(threads: int) -> MeasuredKernels | None:
    from localspec.runtime.speed.measurement import measure_when_idle

    return measure_when_idle(threads)


def _has_terminal() -> bool:
    if os.environ.get("TEXTUAL_DRIVER"):  # Textual draws elsewhere, as in a browser
        return True
    # It reads standard input and draws on standard error; what goes to standard output is for a reader of lines.
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(each is not None and each.isatty() for each in streams) and os.environ.get("TERM") != "dumb"


@dataclass(frozen=True, slots=True)
class Services:
    """The outside world of the command line."""

    open_pair: Opener = _open_pair
    open_screen: Callable[[ChatConfig], None] = _open_screen
    has_terminal: Callable[[], bool] = _has_terminal
    """Returns True if input and output are a terminal that can draw a screen."""
    probe_native: Callable[[], NativeReport] = _probe_native
    """Probes llama.cpp in a process of its own."""
    probe_rpc: Callable[[str], NativeReport] = _probe_rpc
    """Probes llama.cpp with these RPC servers, likewise."""
    measure_kernels: Callable[[int], MeasuredKernels | None] = _measure_kernels
    """Measures the speed of llama.cpp's kernels in a process of its own, if the machine is idle."""
    try_evaluating: Callable[[], Evaluation] = _try_evaluating
    """Tries the evaluation of a small model in a process of its own."""


def confirmed(services: Services, question: str, nothing: str, *, yes: bool) -> bool:
    """True if the user agrees, or has with ``--yes``; else ``nothing`` is said: "Nothing was removed".

    Raises UsageError without a terminal.
    """
    if yes:
        return True
    if not services.has_terminal():
        raise UsageError(f"{nothing}: there is no terminal to ask at.", "Add --yes to do it.")
    if click.confirm(question, err=True):
        return True
    print(f"{nothing}.")
    return False
