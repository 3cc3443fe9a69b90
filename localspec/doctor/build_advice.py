"""Advice on the build of llama.cpp, with the command that builds it for this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from shlex import quote

from localspec.doctor.evaluation import Evaluation
from localspec.doctor.finding import NOTE, OK, PROBLEM, Finding
from localspec.doctor.hardware import Hardware
from localspec.doctor.native_probe import NativeReport

_AREA = "build"
_FINE = Evaluation()
NO_AMX = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
"""Compiler flags against AMX: GCC 12 miscompiles llama.cpp's AMX code, and quantised models crash the engine."""
_NAMES = {"avx2": "AVX2", "avx512f": "AVX512", "avx512_vnni": "AVX512_VNNI", "avx512_bf16": "AVX512_BF16"} | {
    "avx_vnni": "AVX_VNNI",
    "amx_int8": "AMX_INT8",
    "asimddp": "DOTPROD",
    "i8mm": "MATMUL_INT8",
    "sve": "SVE",
}
"""llama.cpp's names of the processor's instruction sets."""


def advise(report: NativeReport, machine: Hardware, evaluation: Evaluation = _FINE) -> list[Finding]:
    """The findings about the build, the greatest gain first; a single good one if there is no advice."""
    amx_trap = "amx_int8" in machine.instruction_sets and (machine.gcc or "").startswith("12.")
    trap = NO_AMX if amx_trap else ""
    found = [
        _broken(report, trap),
        _fails(report, machine, evaluation, trap),
        _cuda(report, machine, trap),
        _rocm(report, machine),
        _amx(report, amx_trap),
    ]
    findings = [finding for finding in found if finding]
    if all(finding.level != PROBLEM for finding in findings):
        findings = [*_processor(report, machine, trap), *findings]
    return findings or [Finding(_AREA, OK, "llama.cpp was built for what this machine has.")]


def install_command(arguments: Sequence[str] = (), flags: str = "") -> str:
    """The command that rebuilds llama-cpp-python for this Python, with CMake arguments and compiler flags."""
    settings = f'CMAKE_ARGS="{" ".join(arguments)}" ' if arguments else ""
    settings += f"{compiler_flags(flags)} " if flags else ""
    python = quote(sys.executable)
    if find_spec("pip") is None:
        tool = f"uv pip install --python {python} --reinstall-package llama-cpp-python --no-cache"
    else:
        tool = f"{python} -m pip install --force-reinstall --no-deps --no-cache-dir"
    return f"{settings}{tool} --no-binary llama-cpp-python {quote('llama-cpp-python>=0.3.36,<0.3.37')}"


def compiler_flags(flags: str) -> str:
    """The compiler flags as environment variables of a command."""
    return f'CFLAGS="{flags}" CXXFLAGS="{flags}"'


def _broken(report: NativeReport, trap: str) -> Finding | None:
    if not report.problem:
        return None
    return Finding(_AREA, PROBLEM, report.problem, "Build it on this machine.", install_command(flags=trap))


def _fails(report: NativeReport, machine: Hardware, evaluation: Evaluation, trap: str) -> Finding | None:
    if not evaluation.problem:
        return None
    gpu = ("-DGGML_CUDA=on",) if machine.cuda else ("-DGGML_HIP=on",) if machine.rocm else ()
    command = install_command(gpu if report.offloads else (), trap)
    return Finding(_AREA, PROBLEM, evaluation.problem, "Build it on this machine.", command)


def _cuda(report: NativeReport, machine: Hardware, trap: str) -> Finding | None:
    if not machine.cuda or report.offloads:
        return None
    first = "" if machine.nvcc else "Install the CUDA toolkit (nvcc) first, then build."
    return Finding(
        _AREA,
        PROBLEM,
        "There is an NVIDIA GPU, and llama.cpp was built without CUDA: everything runs on the CPU.",
        first or "Build it with CUDA.",
        install_command(("-DGGML_CUDA=on",), trap),
    )


def _rocm(report: NativeReport, machine: Hardware) -> Finding | None:
    if not machine.rocm or machine.cuda or report.offloads:
        return None
    text = "There is an AMD GPU with its driver, and llama.cpp was built without ROCm: everything runs on the CPU."
    return Finding(_AREA, PROBLEM, text, "Build it with ROCm.", install_command(("-DGGML_HIP=on",)))


def _amx(report: NativeReport, trapped: bool) -> Finding | None:
    if not trapped or report.problem:
        return None
    if not _has(report, "AMX_INT8"):
        text = "The processor has AMX, which GCC 12 miscompiles. llama.cpp was built without AMX, as it should be."
        return Finding(_AREA, NOTE, text, "When you build it here, leave AMX out.", install_command(flags=NO_AMX))
    text = "llama.cpp was built with AMX, which GCC 12 miscompiles: quantised models may crash the engine."
    return Finding(_AREA, PROBLEM, text, "If this GCC built it, build it without AMX.", install_command(flags=NO_AMX))


def _processor(report: NativeReport, machine: Hardware, trap: str) -> list[Finding]:
    unused = [
        name
        for flag, name in _NAMES.items()
        if flag in machine.instruction_sets and not _has(report, name) and not (trap and name.startswith("AMX"))
    ]
    if not unused:
        return []
    text = f"The processor has {', '.join(unused)}, and llama.cpp was built without that."
    return [Finding(_AREA, NOTE, text, "A build on this machine may be faster.", install_command(flags=trap))]


def _has(report: NativeReport, name: str) -> bool:
    return f" {name} = 1 " in f" {report.system_info} "
