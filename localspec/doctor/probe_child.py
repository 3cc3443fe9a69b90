"""A child process that loads llama.cpp and reports its build and devices as JSON.

It runs as ``python -m localspec.doctor.probe_child [ADDRESSES]``, with the RPC servers to ask. A crash affects only
this process.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

from localspec.base.errors import DrafterUnavailableError, LocalSpecError
from localspec.engine.backends.llama.cores import physical_cores
from localspec.engine.backends.llama.devices import Device, choose, list_devices
from localspec.engine.backends.llama.hidden import hidden_functions
from localspec.engine.backends.llama.native import Native, native
from localspec.engine.backends.llama.rpc import addresses_of, remote_devices


def report(rpc: str = "") -> dict[str, Any]:
    library = native()
    remote, problem = _remote(library, rpc) if rpc else ((), ("", ""))
    devices = (*remote, *list_devices(library))
    used = {device.name for device in choose(devices, None)}
    return {
        "version": version("llama-cpp-python"),
        "library": str(library.c._lib._name),
        "system_info": library.c.llama_print_system_info().decode(errors="replace"),
        "offloads": bool(devices) or _built_for_gpu(library),
        "heads": _has_heads(),
        "threads": physical_cores(),
        "devices": [
            {
                "name": device.name,
                "description": device.description,
                "free_bytes": device.free_bytes,
                "shares_ram": device.shares_ram,
                "used": device.name in used,
                "remote": device.remote,
            }
            for device in devices
        ],
        "rpc_problem": problem[0],
        "rpc_hint": problem[1],
    }


def _built_for_gpu(library: Native) -> bool:
    """True if it was; a build with RPC says so of itself in any case, so that one counts only by its devices."""
    return bool(library.c.llama_supports_gpu_offload()) and not library.c.llama_supports_rpc()


def _remote(library: Native, rpc: str) -> tuple[tuple[Device, ...], tuple[str, str]]:
    """The devices of other machines, or else the message and the hint of the reason why there are none."""
    try:
        return remote_devices(library, addresses_of(rpc)), ("", "")
    except LocalSpecError as error:
        return (), (error.message, error.hint)


def _has_heads() -> bool:
    try:
        hidden_functions()
    except DrafterUnavailableError:
        return False
    return True


if __name__ == "__main__":
    try:
        found = report(*sys.argv[1:])
    except LocalSpecError as error:
        found = {"problem": error.message, "hint": error.hint, "devices": []}
    sys.stdout.write(json.dumps(found))
