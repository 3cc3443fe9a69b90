"""The probe of llama.cpp in a child process: its build and its devices."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from localspec.base.child_exit import BUILD_HINT, why_it_ended
from localspec.base.machine import memory
from localspec.models.discovery.drafts import ExpectWith
from localspec.models.fit import Room
from localspec.models.pairs.description import Expect
from localspec.runtime.speed.expectation import expect_pair, expect_with
from localspec.runtime.speed.speed_file import SpeedFile, machine_name

_TIMEOUT_S = 30.0
_CHILD = (sys.executable, "-P", "-m", "localspec.doctor.probe_child")


@dataclass(frozen=True, slots=True)
class ProbedDevice:
    """A GPU as llama.cpp lists it, or a device of another machine."""

    name: str
    description: str
    free_bytes: int
    """0 if unknown."""
    shares_ram: bool
    used: bool
    """True if LocalSpec uses it by default."""
    remote: bool = False
    """True if an RPC server has it; ``description`` is the server's address."""


@dataclass(frozen=True, slots=True)
class NativeReport:
    """The report of llama.cpp, or the reason why there is none."""

    problem: str = ""
    """A sentence; empty if it loads."""
    hint: str = ""
    version: str | None = None
    library: str | None = None
    system_info: str = ""
    """llama.cpp's own line on its build and the instruction sets in use."""
    offloads: bool = False
    """True if it was built for a GPU."""
    heads: bool = True
    """True if it has the functions that MTP layers, EAGLE-3 and DFlash heads need."""
    threads: int | None = None
    devices: tuple[ProbedDevice, ...] = ()
    rpc_problem: str = ""
    """A sentence on RPC servers that cannot be used; empty without one."""
    rpc_hint: str = ""


def probe_native(
    command: Sequence[str] = _CHILD, timeout_s: float = _TIMEOUT_S, rpc: str | None = None
) -> NativeReport:
    """Probe llama.cpp, and the RPC servers at these addresses. Never raises: a failure is in the report."""
    command = (*command, rpc) if rpc else command
    try:
        done = subprocess.run(
            command, capture_output=True, errors="replace", timeout=timeout_s, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return NativeReport(f"llama.cpp was not loaded within {timeout_s:.0f} seconds.", "Try again; check the disk.")
    except OSError as error:
        return NativeReport(f"Python could not be started again: {error.strerror or error}.", "Check the installation.")
    if done.returncode:
        why = why_it_ended(done.returncode, done.stderr)
        return NativeReport(f"llama.cpp cannot be loaded: {why}.", BUILD_HINT)
    try:
        report = json.loads(done.stdout.strip().rpartition("\n")[2])
        devices = tuple(ProbedDevice(**device) for device in report.pop("devices"))
        return NativeReport(devices=devices, **report)
    except (ValueError, TypeError, KeyError):
        return NativeReport("llama.cpp was loaded, but its report could not be read.", "Please report this.")


def expect_here(report: NativeReport) -> Expect:
    """The expected speed of pairs on this machine, as far as it has been measured."""
    known = speed_file_of(report).load().corrected()
    return lambda pair: expect_pair(pair, known)


def expect_with_here(report: NativeReport) -> ExpectWith:
    """The expected speed of a target with a draft on this machine, as far as it has been measured."""
    known = speed_file_of(report).load().corrected()
    return lambda target, draft: expect_with(target, draft, known)


def speed_file_of(report: NativeReport) -> SpeedFile:
    """The file with what is known of the speed of this machine and this build."""
    used = [device.name for device in report.devices if device.used and not device.remote]
    return SpeedFile(machine_name(report.system_info, report.threads or 1, used))


def room_of(report: NativeReport) -> Room:
    """The memory available for models: of the used devices, and RAM."""
    used = [device for device in report.devices if device.used]
    known = used and all(device.free_bytes for device in used)
    return Room(
        memory(),
        sum(device.free_bytes for device in used) if known else None,
        device_shares_ram=any(device.shares_ram for device in used),
    )
