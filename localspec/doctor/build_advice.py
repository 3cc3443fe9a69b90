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
AMX_FLAGS = "-fno-tree-dse -fno-dse"
"""Compiler flags for AMX with a GCC before 14.

Its ``_tile_loadconfig`` does not say that it reads the whole configuration (GCC bug 114098), so the compiler leaves out
the stores into it, and the first quantised matrix ends the process.
"""
NO_AMX = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
"""Compiler flags that leave AMX out."""
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
    has_trap = "amx_int8" in machine.instruction_sets and (machine.gcc or "").startswith(("11.", "12.", "13."))
    flags = AMX_FLAGS if has_trap else ""
    if report.problem:
        hint = _build_hint(machine, "Build it on this machine.")
        return [Finding(_AREA, PROBLEM, report.problem, hint, install_command(_gpu_arguments(machine), flags))]
    found = (_fails(report, machine, evaluation, flags), _gpu(report, machine, flags))
    problems = [finding for finding in found if finding]
    fine = Finding(_AREA, OK, "llama.cpp was built for what this machine has.")
    return problems or [_processor(report, machine, flags) or fine]


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


def _gpu_arguments(machine: Hardware) -> tuple[str, ...]:
    return ("-DGGML_CUDA=on",) if machine.cuda else ("-DGGML_HIP=on",) if machine.rocm else ()


def _build_hint(machine: Hardware, otherwise: str) -> str:
    """The step before a build for the GPU; ``otherwise`` where its compiler is there."""
    if machine.cuda and not machine.nvcc:
        return "Install the CUDA toolkit (nvcc) first, then build."
    if machine.rocm and not machine.cuda and not machine.hipcc:
        return "Install ROCm (hipcc) first, then build; or build for Vulkan: docs/install.md has the command."
    return otherwise


def _fails(report: NativeReport, machine: Hardware, evaluation: Evaluation, flags: str) -> Finding | None:
    if not evaluation.problem:
        return None
    if _has(report, "AMX_INT8"):
        flags = flags or NO_AMX
    command = install_command(_gpu_arguments(machine) if report.offloads else (), flags)
    return Finding(_AREA, PROBLEM, evaluation.problem, "Build it on this machine.", command)


def _gpu(report: NativeReport, machine: Hardware, flags: str) -> Finding | None:
    arguments = _gpu_arguments(machine)
    if not arguments or report.offloads:
        return None
    name, gpu = ("CUDA", "an NVIDIA GPU") if machine.cuda else ("ROCm", "an AMD GPU with its driver")
    text = f"There is {gpu}, and llama.cpp was built without {name}: everything runs on the CPU."
    hint = _build_hint(machine, f"Build it with {name}.")
    return Finding(_AREA, PROBLEM, text, hint, install_command(arguments, flags))


def _processor(report: NativeReport, machine: Hardware, flags: str) -> Finding | None:
    unused = [name for flag, name in _NAMES.items() if flag in machine.instruction_sets and not _has(report, name)]
    if not unused:
        return None
    text = f"The processor has {', '.join(unused)}, and llama.cpp was built without that."
    return Finding(_AREA, NOTE, text, "A build on this machine may be faster.", install_command(flags=flags))


def _has(report: NativeReport, name: str) -> bool:
    return f" {name} = 1 " in f" {report.system_info} "
