"""The report of an examination, with all that is needed to repeat it; to be read, parsed, or attached to a bug."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from localspec import __version__
from localspec.engine.settings import BANNED, Sampling
from localspec.insight.losslessness.check import Check, CheckOutcome, verdict_of
from localspec.insight.losslessness.examination import FALSE_ALARM, ExaminationPlan
from localspec.runtime.pair_info import PairInfo

_VERDICTS = {
    CheckOutcome.PASS: "Lossless here, as far as these checks can tell.",
    CheckOutcome.FAIL: "NOT lossless here: speculation changes the replies.",
    CheckOutcome.OPEN: "Not shown: too little could be tested.",
}


@dataclass(frozen=True, slots=True)
class ReportContext:
    """The pair and the machine that the checks were done on."""

    pair: str
    info: PairInfo
    hashes: Mapping[str, str]
    """SHA-256 by path."""
    llama_cpp: Mapping[str, str | None]
    """Version of the binding, the library, and what llama.cpp says of its build."""

    def facts(self) -> dict[str, Any]:
        info = self.info
        return {
            "pair": self.pair,
            "target": _model(info.target, info.target_name, info.target_size_bytes, self.hashes),
            "draft": _model(info.draft, info.draft_name, info.draft_size_bytes, self.hashes) if info.draft else None,
            "n_ctx": info.n_ctx,
            "device": info.device,
            "draft_device": info.draft_device,
            "cache_type_k": info.cache_type_k,
            "cache_type_v": info.cache_type_v,
            "flash_attn": info.flash_attn,
            "localspec": __version__,
            "llama_cpp": dict(self.llama_cpp),
            "python": sys.version.split()[0],
            "system": platform.platform(),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """All checks and their circumstances."""

    circumstances: ReportContext
    plan: ExaminationPlan
    checks: Sequence[Check]
    cut_short: bool = False

    @property
    def verdict(self) -> CheckOutcome:
        outcome = verdict_of(self.checks)
        return CheckOutcome.OPEN if self.cut_short and outcome is CheckOutcome.PASS else outcome

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.cut_short:
            return f"Cut short after {len(self.checks)} checks. {_VERDICTS[self.verdict]}"
        return _VERDICTS[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON knows."""
        return {
            "verdict": self.verdict.value,
            "cut_short": self.cut_short,
            "checks": [asdict(check) | {"outcome": check.outcome.value} for check in self.checks],
            "settings": self._settings(),
            "circumstances": self.circumstances.facts(),
            "created": datetime.now().astimezone().isoformat(timespec="seconds"),
        }

    def markdown(self) -> str:
        """As a bug report."""
        lines = ["# localspec verify", "", f"**{self.sentence}**", ""]
        for check in self.checks:
            lines += [f"- **{check.name}: {check.outcome}**. {check.text}"]
            lines += [f"  - `{detail}`" for detail in check.details]
        lines += ["", "| | |", "| --- | --- |"]
        rows = {**_flat(self.circumstances.facts()), **_flat(self._settings(), "settings ")}
        lines += [f"| {name} | `{value}` |" for name, value in rows.items()]
        return "\n".join(lines) + "\n"

    def _settings(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "spec": list(plan.speculation.spec) if plan.speculation.spec is not None else "auto",
            "depth": "auto" if plan.speculation.depth is None else plan.speculation.depth,
            "sampling": _unusual(plan.sampling),
            "prompts_n": len(plan.prompts),
            "tokens": plan.tokens,
            "samples": plan.samples_n,
            "opening_n": plan.opening_n,
            "seed": plan.seed,
            "false_alarm": FALSE_ALARM,
        }


def _model(path: Path | None, name: str | None, size_bytes: int, hashes: Mapping[str, str]) -> dict[str, Any]:
    file = path.name if path else None
    return {"name": name, "file": file, "size_bytes": size_bytes, "sha256": hashes.get(str(path))}


def _unusual(sampling: Sampling) -> dict[str, Any]:
    """The temperature, and what else is not llama.cpp's default."""
    usual = asdict(Sampling())
    changed = {name: value for name, value in asdict(sampling).items() if value != usual[name]}
    changed["temperature"] = sampling.temperature
    if sampling.logit_bias:
        changed["logit_bias"] = {str(token): "ban" if bias == BANNED else bias for token, bias in sampling.logit_bias}
    return changed


def _flat(facts: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """One row for each value, the names of nested ones before their own."""
    rows: dict[str, Any] = {}
    for name, value in facts.items():
        if isinstance(value, Mapping):
            rows |= _flat(value, f"{prefix}{name} ")
        elif value is not None:
            rows[f"{prefix}{name}"] = value
    return rows
