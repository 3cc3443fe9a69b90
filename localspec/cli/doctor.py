"""``localspec doctor``: examines the installation and advises on speed."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import click

from localspec.base.amounts import number_of
from localspec.cli.options import param_of
from localspec.cli.services import Services
from localspec.cli.tables import AMBER, GREEN, RED, coloured, hanging, named

if TYPE_CHECKING:
    from localspec.doctor.examination import Examination
    from localspec.doctor.finding import Finding

_COLOURS = {"ok": GREEN, "note": AMBER, "problem": RED}


@click.command(short_help="Check whether everything works, and what would make it faster.")
@click.option("--rpc", type=param_of("rpc"), help="Ask these RPC servers (default: those that are set).")
@click.option("--json", "as_json", is_flag=True, help="Write what was found as a JSON object.")
@click.pass_obj
def doctor(services: Services, /, rpc: str | None, as_json: bool) -> None:
    """Check whether everything works here, and what would make it faster.

    The exit code is 0 whatever was found; with --json, healthy says whether there is a problem.
    """
    from localspec.config import read_config
    from localspec.doctor.examination import examine

    rpc = rpc or str(read_config().values.get("model.rpc") or "")
    probe = partial(services.probe_rpc, rpc) if rpc else services.probe_native
    found = examine(probe, services.try_evaluating, services.measure_kernels)
    if as_json:
        print(json.dumps(asdict(found) | {"healthy": found.healthy}, indent=2))
        return
    print("\n".join(named(_facts(found))))
    print()
    for finding in found.findings:
        print("\n".join(_finding_lines(finding)))
    problems = sum(finding.level == "problem" for finding in found.findings)
    print(f"\n{number_of(problems, 'problem') if problems else 'No problem'} found.")


def _facts(found: Examination) -> list[tuple[str, str]]:
    machine = found.hardware
    return [
        *found.versions.items(),
        ("processor", machine.processor),
        ("instruction sets", ", ".join(machine.instruction_sets) or "unknown"),
        ("compiler", f"GCC {machine.gcc}" if machine.gcc else "no GCC"),
        ("llama.cpp", found.native.system_info.strip(" |") or "unknown"),
        *((f"device {each.name}", each.description) for each in found.native.devices),
    ]


def _finding_lines(finding: Finding) -> list[str]:
    text = hanging(f"{finding.level:<8}", f"{finding.area}: {finding.text}")
    lines = [coloured(line, _COLOURS[finding.level]) for line in text]
    if finding.hint:
        lines += hanging(" " * 8, finding.hint)
    if finding.command:
        lines.append(f"{'':8}{finding.command}")
    return lines
