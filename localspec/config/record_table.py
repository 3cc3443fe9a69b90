"""The settings of sections ``[stats]`` and ``[audit]``: what is kept and told of replies."""

from __future__ import annotations

from localspec.config.kinds import Flag, Number, ValueKind
from localspec.config.record_kinds import OutFile, Patterns, PortOrFile
from localspec.config.setting import Applies, Setting


def _stats(key: str, kind: ValueKind, about: str, default: str) -> Setting:
    return Setting("stats", key, kind, about, default, option=False)


def _audit(key: str, kind: ValueKind, about: str, default: str) -> Setting:
    return Setting("audit", key, kind, about, default, Applies.NOW, option=False)


STATS_SETTINGS = (
    _stats(
        "record_figures",
        Flag(),
        "Keep with each reply of the chat its tokens, rounds and times, on this machine alone; without them the text "
        "is kept, but neither statistics nor marks of earlier replies",
        "yes",
    ),
    Setting(
        "stats",
        "watch",
        Flag(),
        "Say in the chat when a pair has become worse than it was, or an objective of the day is missed",
        "yes",
        Applies.NOW,
        option=False,
    ),
    _stats(
        "ttft_p95_s",
        Number(0, above=True),
        "Want the first token within so many seconds in 95 of 100 replies; `localspec stats --watch` lists misses",
        "no such objective",
    ),
    _stats(
        "min_speedup",
        Number(0, above=True),
        "Want at least so many times plain speed in half of the replies; `localspec stats --watch` lists misses",
        "no such objective",
    ),
    Setting(
        "stats",
        "metrics",
        PortOrFile(),
        "Give figures of the replies made now to Prometheus: at this port of this machine alone (0 takes a free one), "
        "or in this file, rewritten after each reply",
        "none",
        Applies.NOW,
    ),
    Setting(
        "stats",
        "otel",
        Flag(),
        "Send a trace of each reply, figures alone, to the OpenTelemetry collector that OTEL_EXPORTER_OTLP_ENDPOINT "
        "names, else to port 4318 of this machine",
        "no",
        Applies.NOW,
    ),
)

AUDIT_SETTINGS = (
    Setting(
        "audit",
        "audit_log",
        OutFile(),
        "Add every proposal and decision of every reply to this file as NDJSON, readable by you alone",
        "none",
        Applies.NOW,
    ),
    _audit("redact", Patterns(), "Leave out of the audit log whatever matches any of these", ""),
    _audit("max_mb", Number(0, above=True), "Begin a new file of the audit log at so many megabytes", "16"),
    _audit("keep_files", Number(1, 1000, whole=True), "Keep so many full files of the audit log", "10"),
    _audit("keep_days", Number(0, 36500, above=True), "Keep full files of the audit log for so many days", "90"),
)
