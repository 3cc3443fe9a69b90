"""A child process that loads llama.cpp and reports its build and devices as JSON.

It runs as ``python -m localspec.doctor.probe_child``. A crash affects only this process.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

from localspec.base.errors import DrafterUnavailableError
from localspec.engine.backends.llama.cores import physical_cores
from localspec.engine.backends.llama.devices import choose, list_devices
from localspec.engine.backends.llama.hidden import hidden_functions
from localspec.engine.backends.llama.native import native


def report() -> dict[str, Any]:
    library = native()
    devices = list_devices(library)
    used = {device.name for device in choose(devices, None)}
    return {
        "version": version("llama-cpp-python"),
        "library": str(library.c._lib._name),
        "system_info": library.c.llama_print_system_info().decode(errors="replace"),
        "offloads": bool(library.c.llama_supports_gpu_offload()),
        "heads": _has_heads(),
        "threads": physical_cores(),
        "devices": [
            {
                "name": device.name,
                "description": device.description,
                "free_bytes": device.free_bytes,
                "shares_ram": device.shares_ram,
                "used": device.name in used,
            }
            for device in devices
        ],
    }


def _has_heads() -> bool:
    try:
        hidden_functions()
    except DrafterUnavailableError:
        return False
    return True


if __name__ == "__main__":
    sys.stdout.write(json.dumps(report()))
