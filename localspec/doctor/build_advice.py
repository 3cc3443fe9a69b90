"""The command that installs llama.cpp built for this machine, where the build there is leaves speed behind."""

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
"""For the compiler: GCC 12 compiles llama.cpp's AMX code wrongly, and quantised models end the engine at once."""
_NAMES = {"avx2": "AVX2", "avx512f": "AVX512", "avx512_vnni": "AVX512_VNNI", "avx512_bf16": "AVX512_BF16"} | {
    "avx_vnni": "AVX_VNNI",
    "amx_int8": "AMX_INT8",
    "asimddp": "DOTPROD",
    "i8mm": "MATMUL_INT8",
    "sve": "SVE",
}
"""What llama.cpp calls the instruction sets of the processor."""


def advise(report: NativeReport, machine: Hardware, evaluation: Evaluation = _FINE) -> list[Finding]:
    """What to build instead, the most gain first; one finding that all is well if there is nothing."""
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
    """The command that compiles llama-cpp-python anew for this very Python: CMake's arguments, the compiler's flags."""
    settings = f'CMAKE_ARGS="{" ".join(arguments)}" ' if arguments else ""
    settings += f"{compiler_flags(flags)} " if flags else ""
    python = quote(sys.executable)
    if find_spec("pip") is None:
        tool = f"uv pip install --python {python} --reinstall-package llama-cpp-python --no-cache"
    else:
        tool = f"{python} -m pip install --force-reinstall --no-deps --no-cache-dir"
    return f"{settings}{tool} --no-binary llama-cpp-python {quote('llama-cpp-python>=0.3.36,<0.3.37')}"


def compiler_flags(flags: str) -> str:
    """As they are set for a command."""
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
        text = "The processor has AMX, which GCC 12 compiles wrongly: llama.cpp was built without, and is to stay so."
        return Finding(_AREA, NOTE, text, "Whenever you build it here, leave AMX out.", install_command(flags=NO_AMX))
    text = "llama.cpp was built with AMX, and GCC 12 compiles that code wrongly: quantised models may end the engine."
    return Finding(_AREA, PROBLEM, text, "If this GCC built it, build it without AMX.", install_command(flags=NO_AMX))


def _processor(report: NativeReport, machine: Hardware, trap: str) -> list[Finding]:
    unused = [
        name
        for flag, name in _NAMES.items()
        if flag in machine.instruction_sets and not _has(report, name) and not (trap and name.startswith("AMX"))
    ]
    if not unused:
        return []
    text = f"The processor has {', '.join(unused)}, and llama.cpp was built without."
    return [Finding(_AREA, NOTE, text, "Built on this machine it may be faster.", install_command(flags=trap))]


def _has(report: NativeReport, name: str) -> bool:
    return f" {name} = 1 " in f" {report.system_info} "
