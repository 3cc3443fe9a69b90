"""The whole examination in one record."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from localspec import __version__
from localspec.base.amounts import number_of
from localspec.config import read_config
from localspec.doctor.build_advice import advise
from localspec.doctor.checks import (
    check_cache,
    check_folders,
    check_history,
    check_large_pages,
    check_network,
    check_server,
    check_settings,
)
from localspec.doctor.evaluation import Evaluation
from localspec.doctor.finding import NOTE, OK, PROBLEM, Finding
from localspec.doctor.hardware import Hardware, hardware
from localspec.doctor.native_probe import NativeReport, room_of, speed_file_of
from localspec.models.fit import Room
from localspec.models.token_work import work_of_size
from localspec.runtime.figures import size, speed
from localspec.runtime.remote.address import is_loopback
from localspec.runtime.speed.expectation import expected_speed
from localspec.runtime.speed.measurement import Measure, known_speed, measure_when_idle

_TYPICAL_BYTES = 5 * 10**9
_PACKAGES = ("llama-cpp-python", "huggingface-hub", "textual", "numpy")


@dataclass(frozen=True, slots=True)
class Examination:
    """The installation, the machine and the findings."""

    versions: dict[str, str]
    native: NativeReport
    evaluation: Evaluation
    hardware: Hardware
    room: Room
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """True if there is no problem among the findings."""
        return all(finding.level != PROBLEM for finding in self.findings)


def examine(
    probe: Callable[[], NativeReport], evaluate: Callable[[], Evaluation], measure: Measure = measure_when_idle
) -> Examination:
    """Examine everything. Never raises for a broken installation."""
    native, machine = probe(), hardware()
    evaluation = Evaluation() if native.problem else evaluate()
    room = room_of(native)
    findings = (
        *_engine(native),
        *_other_machines(native),
        *_evaluation(evaluation),
        *advise(native, machine, evaluation),
        _memory(room),
        *_speed(native, measure),
        *check_large_pages(),
        *check_folders(),
        *check_settings(),
        *check_history(),
        *check_cache(),
        *check_server(read_config().values.get("model.connect")),
        check_network(),
    )
    return Examination(_versions(), native, evaluation, machine, room, findings)


def _versions() -> dict[str, str]:
    found = {"localspec": __version__, "python": platform.python_version(), "system": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    return found | {"executable": sys.executable}


def _engine(native: NativeReport) -> list[Finding]:
    if native.problem:
        return []  # reported by the advice on the build
    threads = number_of(native.threads or 0, "CPU thread")
    used = [device for device in native.devices if device.used]
    findings = [Finding("engine", OK, f"llama.cpp loads: {native.library}."), _heads(native)]
    if used:
        names = " and ".join(f"{each.name} ({each.description}{_free(each.free_bytes)})" for each in used)
        return [*findings, Finding("engine", OK, f"It would evaluate on {names}, and on {threads} what does not fit.")]
    if native.offloads:
        text = f"It was built for a GPU, and sees none: it would use {threads}."
        return [*findings, Finding("engine", NOTE, text, "Check the GPU's driver.")]
    return [*findings, Finding("engine", OK, f"It would use {threads}, and no GPU.")]


def _other_machines(native: NativeReport) -> list[Finding]:
    """About the RPC servers that were asked for."""
    if native.rpc_problem:
        return [Finding("rpc", PROBLEM, native.rpc_problem, native.rpc_hint)]
    addresses = dict.fromkeys(device.description for device in native.devices if device.remote)
    exposed = [address for address in addresses if not is_loopback(address.rpartition(":")[0])]
    if not exposed:
        return []
    return [
        Finding(
            "rpc",
            NOTE,
            f"Nothing protects the connection to {' and '.join(exposed)}: whoever can reach an RPC server can read "
            "what it computes, and take over its machine.",
            "Use it in a private network only, or through a tunnel: docs/guide.md says how.",
        )
    ]


def _heads(native: NativeReport) -> Finding:
    if native.heads:
        return Finding("engine", OK, "It can run draft heads: MTP layers, EAGLE-3 and DFlash.")
    text = "It lacks functions that draft heads need: replies go on without MTP layers, EAGLE-3 and DFlash."
    return Finding("engine", NOTE, text, "Install the version of llama-cpp-python that LocalSpec names.")


def _evaluation(evaluation: Evaluation) -> list[Finding]:
    if not evaluation.device:
        return []  # reported by the advice on the build
    return [Finding("engine", OK, f"Small models of 4 bits and of 8 run: {evaluation.device}.")]


def _speed(native: NativeReport, measure: Measure) -> list[Finding]:
    if native.problem:
        return []
    machine = known_speed(speed_file_of(native), native.threads or 1, measure)
    found = expected_speed(work_of_size(_TYPICAL_BYTES, "Q4_K"), machine)
    if found is None:
        return [Finding("speed", NOTE, "It was not measured: the machine is busy.", "Try again when it is idle.")]
    paces = f"about {speed(found.plain_per_second)} tokens/s without a draft"
    text = f"A model of {size(_TYPICAL_BYTES)} (8 billion parameters at Q4_K) would write {paces}."
    return [Finding("speed", OK, text)]


def _memory(room: Room) -> Finding:
    physical, available = room.memory.physical, room.memory.available
    if physical is None:
        return Finding("memory", NOTE, "The system does not report its memory.")
    return Finding("memory", OK, f"{size(physical)} in all{_free(available)}.")


def _free(free_bytes: int | None) -> str:
    """The free memory at the end of a phrase; empty where it is not known, of a GPU 0."""
    return f", {size(free_bytes)} free" if free_bytes else ""
