"""Why a child process ended, in words: whatever llama.cpp does to it, the one that asked goes on and has a sentence."""

from __future__ import annotations

import signal

_REASONS = {
    signal.SIGILL: "it was built for another processor and executes an instruction this one does not have",
    signal.SIGSEGV: "it crashed",
    signal.SIGBUS: "it crashed",
    signal.SIGABRT: "it gave up",
    signal.SIGKILL: "the system killed it, mostly for want of memory",
}
_LONGEST = 200


def why_it_ended(code: int, stderr: str) -> str:
    """From its exit code, which is not 0 (negative for a signal), and what it wrote; no full stop at the end."""
    lines = [line.strip()[:_LONGEST].rstrip(".") for line in stderr.splitlines() if line.strip()]
    if code > 0:
        return lines[-1] if lines else "it did not say why"
    died = next((text for name, text in _REASONS.items() if name == -code), f"it died of signal {-code}")
    # A driver says first what is wrong, and then where that was met.
    said = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
    return f"{died} ({said})" if said else died
