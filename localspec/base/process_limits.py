"""Limits of memory, processor time and files for a child process that decodes a stranger's file."""

from __future__ import annotations

import resource
from contextlib import suppress


def limit_process(memory_bytes: int, cpu_s: int) -> None:
    """Limit this process for good; it can write to no file afterwards. No effect where the system has no limits."""
    for limit, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))
