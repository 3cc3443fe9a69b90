"""The facts of a load, read from llama.cpp's log: it cannot be asked for them.

Tests load real models and hold these against what was asked for, so that a new wording does not pass unseen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

OUT_OF_MEMORY = re.compile(r"alloc|out of memory|insufficient memory", re.IGNORECASE)
"""Words that mean a lack of memory, in a reason for a failed load."""
_DEVICE = re.compile(r"using device (\S+ \(.*?\)) \(")
_OFFLOADED = re.compile(r"offloaded (\d+)/(\d+) layers")
_CACHE = re.compile(r"K \((\w+)\):.*V \((\w+)\):")
_FLASH_ATTN_OFF = re.compile(r"Flash Attention not supported|flash_attn is not compatible")
_NOT_LOCKED = re.compile(r"failed to mlock|mlock not supported")


def describe_device(lines: Sequence[str], threads: int) -> str:
    """The device that evaluates a model, in words, from llama.cpp's log of loading it."""
    cpu = f"CPU, {threads} thread{'s' if threads != 1 else ''}"
    layers = offloaded_layers(lines)
    if layers is None:
        return cpu
    gpu = f"{' and '.join(_devices(lines))}, {layers[0]}/{layers[1]} layers"
    return gpu if layers[0] == layers[1] else f"{gpu}; {cpu}"


def offloaded_layers(lines: Sequence[str]) -> tuple[int, int] | None:
    """The number of layers on a device, and of all layers; None if none is on one.

    llama.cpp counts layers as offloaded even where there is no device to take them, so both are asked for.
    """
    found = _OFFLOADED.search("\n".join(lines))
    if not found or not _devices(lines) or found[1] == "0":
        return None
    return int(found[1]), int(found[2])


def all_offloaded(lines: Sequence[str]) -> bool:
    """True if no layer is left to the CPU."""
    layers = offloaded_layers(lines)
    return layers is not None and layers[0] == layers[1]


def only_cuda(lines: Sequence[str]) -> bool:
    """True if all layers are on NVIDIA's GPUs."""
    return all_offloaded(lines) and all(device.startswith("CUDA") for device in _devices(lines))


def cache_types(lines: Sequence[str]) -> tuple[str | None, str | None]:
    """The types that keys and values are kept as; None, None where there are none."""
    found = _CACHE.search("\n".join(lines))
    return (found[1], found[2]) if found else (None, None)


def flash_attn_enabled(lines: Sequence[str], wanted: bool | None) -> bool:
    """True if attention is the fused one, after llama.cpp looked at the devices."""
    return wanted is not False and not _FLASH_ATTN_OFF.search("\n".join(lines))


def is_locked(lines: Sequence[str]) -> bool:
    return not _NOT_LOCKED.search("\n".join(lines))


def _devices(lines: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(_DEVICE.findall("\n".join(lines))))
