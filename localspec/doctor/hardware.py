"""The processor, the compiler and the GPUs of this machine, found without vendor libraries."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_NVIDIA, _AMD, _CARDS = Path("/proc/driver/nvidia/version"), Path("/dev/kfd"), Path("/sys/class/drm")
_INTEGRATED_BYTES = 3 * 2**30
"""An AMD GPU with less memory of its own is part of the processor, and reads weights no faster than that."""
_TIMEOUT_S = 5.0
_SETS = (
    *("sse3", "avx", "avx2", "f16c", "fma", "bmi2", "avx_vnni", "avx512f", "avx512_vbmi", "avx512_vnni", "avx512_bf16"),
    *("amx_int8", "amx_bf16", "neon", "asimd", "asimddp", "i8mm", "sve", "sve2"),
)
"""The instruction sets that llama.cpp has code for."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """The hardware and the compiler that a build of llama.cpp depends on."""

    system: str
    machine: str
    """The architecture: "x86_64", "arm64"."""
    processor: str
    instruction_sets: tuple[str, ...]
    """The instruction sets that llama.cpp has code for; empty if unknown."""
    gcc: str | None
    """The version of the C compiler, if it is GCC."""
    cuda: bool
    """True with an NVIDIA GPU and its driver."""
    nvcc: bool
    """True with CUDA's compiler."""
    rocm: bool
    """True with an AMD GPU of its own memory and its driver."""
    hipcc: bool
    """True with ROCm's compiler."""


def hardware(cpuinfo: Path = _CPUINFO, nvidia: Path = _NVIDIA, amd: Path = _AMD, cards: Path = _CARDS) -> Hardware:
    name, flags = _processor(cpuinfo)
    return Hardware(
        system=platform.system(),
        machine=platform.machine(),
        processor=name,
        instruction_sets=tuple(name for name in _SETS if name in flags),
        gcc=gcc_version(),
        cuda=nvidia.exists() or shutil.which("nvidia-smi") is not None,
        nvcc=shutil.which("nvcc") is not None or Path("/usr/local/cuda/bin/nvcc").exists(),
        rocm=amd.exists() and not _is_integrated(cards),
        hipcc=shutil.which("hipcc") is not None or Path("/opt/rocm/bin/hipcc").exists(),
    )


def _processor(cpuinfo: Path) -> tuple[str, set[str]]:
    fields: dict[str, str] = {}
    try:
        for line in cpuinfo.read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    except OSError:
        pass  # not Linux
    flags = set((fields.get("flags") or fields.get("Features") or "").split())
    return fields.get("model name") or platform.processor() or platform.machine(), flags


def _is_integrated(cards: Path) -> bool:
    """True if every AMD GPU is part of the processor; False where the system does not report their memory."""
    sizes = []
    for file in cards.glob("card*/device/mem_info_vram_total"):
        try:
            sizes.append(int(file.read_text()))
        except (OSError, ValueError):
            return False
    return bool(sizes) and max(sizes) < _INTEGRATED_BYTES


def gcc_version() -> str | None:
    """The version of the compiler in $CC, else of cc, if it is GCC."""
    command = (os.environ.get("CC", "").split() or ["cc"])[0]
    if shutil.which(command) is None:
        return None
    try:
        done = subprocess.run([command, "--version"], capture_output=True, errors="replace", timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if "Free Software Foundation" not in done.stdout:
        return None
    found = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", done.stdout.partition("\n")[0].rpartition(")")[2])
    return found[1] if found else None
