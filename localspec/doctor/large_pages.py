"""Whether the system gives weights large pages, which the engine asks for; see ``backends.llama.large_pages``."""

from __future__ import annotations

from pathlib import Path

from localspec.doctor.finding import NOTE, OK, Finding

SWITCH = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def look_at_large_pages(switch: Path = SWITCH) -> list[Finding]:
    """Nothing where the system has no such switch: it is Linux's."""
    try:
        chosen = switch.read_text(encoding="utf-8").partition("[")[2].partition("]")[0]
    except OSError:
        return []
    if chosen != "never":
        return [Finding("memory", OK, "Weights are given large pages, which a CPU reads faster.")]
    return [
        Finding(
            "memory",
            NOTE,
            "The system gives no large pages, with which a CPU reads weights faster.",
            "Have it give them to programs that ask, until the next start of the machine:",
            f"echo madvise | sudo tee {switch}",
        )
    ]
