"""Advice on what to build instead: the right command for the right machine, and none where nothing is to be gained."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from localspec.doctor.build_advice import AMX_FLAGS, NO_AMX, advise, install_command
from localspec.doctor.evaluation import Evaluation
from localspec.doctor.finding import NOTE, OK, PROBLEM, Finding
from localspec.doctor.hardware import Hardware
from localspec.doctor.native_probe import NativeReport

PLAIN = Hardware("Linux", "x86_64", "Test CPU", ("avx2",), "13.2.0", cuda=False, nvcc=False, rocm=False, hipcc=False)
BUILT = NativeReport(version="1", system_info="CPU : AVX = 1 | AVX2 = 1 | ", threads=2)
FOR_AMX = f'CFLAGS="{AMX_FLAGS}" CXXFLAGS="{AMX_FLAGS}" '
AMX = ("avx2", "amx_int8")
FINE = Evaluation()
INSTALL = Path(__file__).parents[2] / "docs" / "install.md"


def advice(report: NativeReport = BUILT, evaluation: Evaluation = FINE, **changes: object) -> list[Finding]:
    return advise(report, dataclasses.replace(PLAIN, **changes), evaluation)  # type: ignore[arg-type]


def test_a_build_that_has_everything_is_left_alone() -> None:
    assert [(finding.level, finding.command) for finding in advice()] == [(OK, "")]


def test_a_gpu_that_is_not_used_is_a_problem_with_the_command_that_mends_it() -> None:
    (finding,) = advice(cuda=True, nvcc=True)

    assert finding.level == PROBLEM
    assert 'CMAKE_ARGS="-DGGML_CUDA=on" ' in finding.command
    assert "toolkit" not in finding.hint
    assert "toolkit" in advice(cuda=True)[0].hint


def test_a_gpu_that_is_used_is_none() -> None:
    assert advice(dataclasses.replace(BUILT, offloads=True), cuda=True)[0].level == OK


def test_an_amd_gpu_is_built_for_with_rocm() -> None:
    (finding,) = advice(rocm=True, hipcc=True)

    assert (finding.level, "-DGGML_HIP=on" in finding.command) == (PROBLEM, True)
    assert "hipcc" not in finding.hint
    assert "hipcc" in advice(rocm=True)[0].hint


WITH_AMX = dataclasses.replace(BUILT, system_info=BUILT.system_info + "AMX_INT8 = 1 | ")
FAILS = Evaluation("llama.cpp loads, but does not evaluate a small model: it crashed.")


@pytest.mark.parametrize("gcc", ["11.4.0", "12.2.0", "13.1.0"])
def test_an_old_gcc_builds_amx_with_flags_that_save_its_configuration(gcc: str) -> None:
    """Whatever is built; a build that evaluates needs no advice."""
    assert advice(WITH_AMX, instruction_sets=AMX, gcc=gcc)[0].level == OK

    (finding,) = advice(WITH_AMX, evaluation=FAILS, instruction_sets=AMX, gcc=gcc)
    assert (finding.level, FOR_AMX in finding.command) == (PROBLEM, True)

    (finding,) = advice(instruction_sets=AMX, gcc=gcc)
    assert "AMX_INT8" in finding.text
    assert (finding.level, FOR_AMX in finding.command) == (NOTE, True)

    assert all(FOR_AMX in each.command for each in advice(instruction_sets=AMX, gcc=gcc, cuda=True, nvcc=True))


def test_the_page_on_installing_says_what_doctor_does() -> None:
    (finding,) = advice(instruction_sets=AMX, gcc="12.2.0")
    said, _, _ = finding.command.partition(sys.executable)

    assert shlex.split(said)[:2] == [f"CFLAGS={AMX_FLAGS}", f"CXXFLAGS={AMX_FLAGS}"]
    page = INSTALL.read_text(encoding="utf-8")
    assert f"`{FOR_AMX.strip()}`" in page
    assert f"`{NO_AMX}`" in page


@pytest.mark.parametrize("gcc", ["14.2.0", None])
def test_any_other_compiler_needs_none(gcc: str | None) -> None:
    """If what it built fails, the next attempt leaves AMX out."""
    (finding,) = advice(instruction_sets=AMX, gcc=gcc)
    assert "AMX_INT8" in finding.text
    assert (finding.level, "CFLAGS" in finding.command) == (NOTE, False)

    (finding,) = advice(WITH_AMX, evaluation=FAILS, instruction_sets=AMX, gcc=gcc)
    assert f'CFLAGS="{NO_AMX}"' in finding.command


def test_instructions_that_are_not_used_are_named() -> None:
    (finding,) = advice(instruction_sets=("avx2", "avx512f", "avx512_vnni"))

    assert finding.text == "The processor has AVX512, AVX512_VNNI, and llama.cpp was built without that."
    assert finding.level == NOTE


def test_a_library_that_does_not_load_is_built_anew() -> None:
    (finding,) = advice(NativeReport("llama.cpp cannot be loaded: x."))

    assert (finding.level, finding.text) == (PROBLEM, "llama.cpp cannot be loaded: x.")
    assert finding.command
    assert "CMAKE_ARGS" not in finding.command


@pytest.mark.parametrize(
    ("gpu", "argument"), [({"cuda": True, "nvcc": True}, "-DGGML_CUDA=on"), ({"rocm": True}, "-DGGML_HIP=on")]
)
def test_a_library_that_does_not_load_is_built_for_the_gpu(gpu: dict[str, Any], argument: str) -> None:
    """A missing CUDA library may be the reason: nothing is known of the build then."""
    (finding,) = advice(NativeReport("llama.cpp cannot be loaded: libcudart.so.12: no such file."), **gpu)

    assert finding.text.startswith("llama.cpp cannot be loaded")
    assert argument in finding.command


@pytest.mark.parametrize("pip", [True, False])
def test_the_command_is_for_this_python_with_the_tool_it_has(monkeypatch: pytest.MonkeyPatch, pip: bool) -> None:
    monkeypatch.setattr("localspec.doctor.build_advice.find_spec", lambda name: pip or None)

    words = shlex.split(install_command(("-DGGML_CUDA=on", "-DX=1")))

    assert words[0] == "CMAKE_ARGS=-DGGML_CUDA=on -DX=1"
    assert sys.executable in words
    assert words[1] == (sys.executable if pip else "uv")
    assert words[-3:] == ["--no-binary", "llama-cpp-python", "llama-cpp-python>=0.3.36,<0.3.37"]
