"""A small model evaluated in another process: whatever becomes of that, this one goes on and has a sentence."""

from __future__ import annotations

import dataclasses
import signal
import sys

import pytest

from localspec.doctor import examination
from localspec.doctor.build_advice import advise
from localspec.doctor.evaluation import Evaluation, try_evaluating
from localspec.doctor.examination import examine
from localspec.doctor.finding import OK, PROBLEM
from localspec.doctor.hardware import Hardware
from localspec.doctor.native_probe import NativeReport
from tests.builtin import open_target

BUILT = NativeReport(version="1", library="/lib.so", system_info="CPU : AVX2 = 1 | ", threads=2)
PLAIN = Hardware("Linux", "x86_64", "Test CPU", ("avx2",), "13.2.0", cuda=False, nvcc=False, rocm=False, hipcc=False)
CRASHED = Evaluation("llama.cpp loads, but does not evaluate a small model: it crashed.")


def child(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


def test_what_is_installed_here_evaluates() -> None:
    target = open_target(n_ctx=64)
    done = try_evaluating()

    assert done.problem == ""
    assert done.device.split(",")[0] == target.device.split(",")[0], "where the app would"
    target.close()


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGILL, "an instruction this one does not have."),
        (signal.SIGSEGV, "it crashed."),
        (signal.SIGKILL, "want of memory."),
        (signal.SIGTERM, "signal 15 ended it."),
    ],
)
def test_a_death_is_a_sentence(number: signal.Signals, said: str) -> None:
    done = try_evaluating(child(f"import os; os.kill(os.getpid(), {int(number)})"))

    assert done.problem.startswith("llama.cpp loads, but does not evaluate a small model: ")
    assert done.problem.endswith(said)
    assert done.device == ""


def test_the_last_words_are_passed_on() -> None:
    """Of a driver, which says what is wrong first and where it was met after that."""
    words = "CUDA error: no kernel image is available\\n  current device: 0\\nggml-cuda.cu:98\\n"
    done = try_evaluating(child(f"import os, sys; sys.stderr.write('{words}'); sys.stderr.flush(); os.abort()"))

    assert done.problem.endswith("it gave up (CUDA error: no kernel image is available).")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise SystemExit('The scores are not numbers.')", "The scores are not numbers."),
        ("def fail():\n    raise RuntimeError('No error of mine.')\nfail()", ": RuntimeError: No error of mine."),
        ("raise SystemExit(3)", "it gave no reason."),
        ("print('hello')", "could not be read."),
        ("print('{}')", "could not be read."),
    ],
)
def test_an_answer_that_is_none_is_a_sentence(code: str, said: str) -> None:
    done = try_evaluating(child(code))

    assert done.problem.endswith(said)
    assert ".." not in done.problem


def test_one_that_never_answers_is_given_up() -> None:
    assert "within 0 seconds" in try_evaluating(child("import threading; threading.Event().wait()"), 0.2).problem
    assert "could not be started" in try_evaluating(("/none/python",)).problem


def test_it_is_a_problem_with_the_command_that_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Built for the same GPU again, if it was built for one."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(examination, "hardware", lambda: PLAIN)

    found = examine(lambda: BUILT, lambda: CRASHED)
    assert not found.healthy
    assert [finding.text for finding in found.findings if finding.level == PROBLEM] == [CRASHED.problem]

    for offloads, cuda, arguments in ((False, True, ""), (True, True, "-DGGML_CUDA=on"), (True, False, "")):
        report = dataclasses.replace(BUILT, offloads=offloads)
        finding = advise(report, dataclasses.replace(PLAIN, cuda=cuda), CRASHED)[0]
        assert (finding.level, finding.text) == (PROBLEM, CRASHED.problem)
        assert "llama-cpp-python" in finding.command
        assert ("-DGGML_CUDA=on" in finding.command) == bool(arguments)


def test_where_a_small_model_runs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    found = examine(lambda: BUILT, lambda: Evaluation(device="CUDA0 (Test GPU), 3/3 layers"))
    assert [f.text for f in found.findings if f.level == OK and "CUDA0 (Test GPU), 3/3 layers" in f.text]


def test_what_does_not_load_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    tried = []

    def evaluate() -> Evaluation:
        tried.append(1)
        return Evaluation()

    examine(lambda: NativeReport("llama.cpp cannot be loaded: x."), evaluate)
    assert not tried
