"""The devices llama.cpp can offload layers to, as it lists them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from localspec.base.errors import CapacityError, UsageError
from localspec.engine.backends.llama.native import Native

NO_DEVICE = "none"
"""The name that stands for the CPU."""
_GPU, _IGPU = 1, 2  # ggml_backend_dev_type
_SHARING_RAM = ("Metal", "MTL")


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU, or whatever an RPC server computes with."""

    name: str
    """As llama.cpp names it: "CUDA0"."""
    description: str
    handle: int
    """ggml_backend_dev_t; valid as long as the process."""
    free_bytes: int
    integrated: bool
    """It is part of the processor, and llama.cpp takes it only where there is no other."""
    remote: bool = False
    """It is another machine's; ``description`` is the address of the RPC server."""

    @property
    def shares_ram(self) -> bool:
        return self.integrated or self.name.startswith(_SHARING_RAM)


def list_devices(native: Native) -> tuple[Device, ...]:
    """Every GPU of this machine that llama.cpp was built for and finds; none in a build for the CPU."""
    ggml = native.ggml
    handles = [ggml.ggml_backend_dev_get(i) for i in range(ggml.ggml_backend_dev_count())]
    found = []
    for handle in handles:
        kind = ggml.ggml_backend_dev_type(handle)
        if kind not in (_GPU, _IGPU):
            continue
        name, description = ggml.ggml_backend_dev_name(handle), ggml.ggml_backend_dev_description(handle)
        free = free_bytes(native, handle)
        found.append(Device(name.decode(), description.decode(errors="replace"), handle, free, kind == _IGPU))
    return tuple(found)


def free_bytes(native: Native, handle: int) -> int:
    """The free memory of a device; 0 if it does not tell."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    native.ggml.ggml_backend_dev_memory(handle, ctypes.byref(free), ctypes.byref(total))
    return free.value


def choose(devices: Sequence[Device], wish: str | None) -> tuple[Device, ...]:
    """The devices that ``wish`` names, commas between; without a wish all discrete GPUs, or else one that is not.

    Raises UsageError, naming those there are, if there is no such device.
    """
    if wish is None:
        return tuple(device for device in devices if not device.integrated) or tuple(devices[:1])
    if wish == NO_DEVICE:
        return ()
    known = {device.name: device for device in devices}
    names = [name.strip() for name in wish.split(",")]
    for name in names:
        if name not in known:
            raise UsageError(f"There is no device {name!r}.", _those(devices))
    return tuple(known[name] for name in dict.fromkeys(names))


def require_gpu(devices: Sequence[Device]) -> None:
    """Raise CapacityError if there is no device at all."""
    if not devices:
        raise CapacityError(
            "A GPU is required, and llama.cpp finds none.",
            "Install llama-cpp-python built for yours (CUDA, Metal, Vulkan or ROCm), or leave --require-gpu out.",
        )


def _those(devices: Sequence[Device]) -> str:
    if not devices:
        return f"llama.cpp finds no GPU here; {NO_DEVICE} is the CPU."
    listed = ", ".join(f"{device.name} ({device.description})" for device in devices)
    return f"There are {listed}, and {NO_DEVICE} for the CPU."
