"""llama.cpp asked in another process: whatever becomes of that, this one goes on and has a sentence."""

from __future__ import annotations

import json
import signal
import sys

import pytest

from localspec.base.child_exit import BUILD_HINT
from localspec.doctor.native_probe import NativeReport, ProbedDevice, probe_native, room_of

GPU = ProbedDevice("CUDA0", "Test GPU", 8_000, shares_ram=False, used=True)


def child(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


def saying(record: object) -> tuple[str, ...]:
    return child(f"print({json.dumps(json.dumps(record))})")


def test_what_is_installed_here_answers() -> None:
    report = probe_native()

    assert report.problem == ""
    assert report.version
    assert report.threads
    assert "CPU" in report.system_info


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGILL, "an instruction this one does not have"),
        (signal.SIGSEGV, "it crashed"),
        (signal.SIGKILL, "want of memory"),
        (signal.SIGTERM, "signal 15 ended it"),
    ],
)
def test_a_death_is_a_sentence(number: signal.Signals, said: str) -> None:
    report = probe_native(child(f"import os; os.kill(os.getpid(), {int(number)})"))

    assert said in report.problem
    assert report.problem.endswith(".")
    assert report.hint


def test_a_library_that_is_not_there_is_a_sentence() -> None:
    report = probe_native(child("raise ImportError('libcudart.so.12: cannot open shared object file')"))

    assert report.problem.startswith("llama.cpp cannot be loaded: ImportError: libcudart.so.12")


def test_without_the_package_the_sentence_is_that_of_every_command() -> None:
    """The same as where a pair is loaded."""
    start = "import runpy, sys; sys.modules['llama_cpp'] = None; "
    report = probe_native(child(f"{start}runpy.run_module('localspec.doctor.probe_child', run_name='__main__')"))

    assert report.problem == "llama.cpp cannot be loaded: the package llama-cpp-python is not installed."
    assert report.hint == BUILD_HINT


@pytest.mark.parametrize("code", ["", "print('hello')", "print('{}')", "print('[1]')", "print('{\"devices\": 3}')"])
def test_an_answer_that_is_none_is_a_sentence(code: str) -> None:
    assert "could not be read" in probe_native(child(code)).problem


def test_one_that_never_answers_is_given_up() -> None:
    report = probe_native(child("import threading; threading.Event().wait()"), timeout_s=0.2)

    assert "was not loaded within" in report.problem


def test_a_python_that_is_gone_is_a_sentence() -> None:
    assert "could not be started" in probe_native(("/none/python",)).problem


def test_talk_before_the_answer_is_passed_over() -> None:
    said = saying({"version": "1", "devices": []})[2]

    assert probe_native(child(f"print('ggml says hello'); {said}")) == NativeReport(version="1")


def test_room_is_what_the_devices_used_have_free() -> None:
    other = ProbedDevice("GPU1", "", 5, shares_ram=True, used=False)

    assert room_of(NativeReport(devices=(GPU, other))).device_bytes == 8_000
    assert not room_of(NativeReport(devices=(GPU, other))).device_shares_ram
    assert room_of(NativeReport(devices=(other,))).device_bytes is None
    assert room_of(NativeReport()).device_bytes is None
    silent = ProbedDevice("GPU2", "", 0, shares_ram=False, used=True)
    assert room_of(NativeReport(devices=(GPU, silent))).device_bytes is None, "a sum of which a part is unknown"
