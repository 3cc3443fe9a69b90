"""The finding on large memory pages, which the engine requests for weights; see ``backends.llama.large_pages``."""

from __future__ import annotations

from pathlib import Path

from localspec.doctor.finding import NOTE, OK, Finding

SWITCH = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def look_at_large_pages(switch: Path = SWITCH) -> list[Finding]:
    """The finding; none on systems other than Linux."""
    try:
        chosen = switch.read_text(encoding="utf-8").partition("[")[2].partition("]")[0]
    except OSError:
        return []
    if chosen != "never":
        return [Finding("memory", OK, "Weights are in large pages, which a CPU reads faster.")]
    return [
        Finding(
            "memory",
            NOTE,
            "Large pages are turned off; with them a CPU reads weights faster.",
            "Allow them for programs that request them, until the next start of the machine:",
            f"echo madvise | sudo tee {switch}",
        )
    ]
