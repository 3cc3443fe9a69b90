"""What a paste costs: until it stands in the prompt, and what a key press takes to be painted afterwards.

    python -m tests.benchmarks.paste [KILOBYTES]

Runs the whole app with the built-in pair on a terminal of its own.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time

from tests.terminal import Terminal

LINE = "some line of a pasted log, eighty characters or so, more or less, who counts\n"
KEYS = 40
KEYS_TYPED = "ЖЩЮЯ"  # in no control sequence and no other text on the screen


def main() -> None:
    size_kb = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    with tempfile.TemporaryDirectory() as home:
        chat = Terminal([sys.executable, "-m", "localspec"], {"LOCALSPEC_HOME": home})
        chat.wait_for("plain speed", 60)
        report("key press to paint before", key_presses(chat))
        paste = "\x1b[200~" + LINE * (size_kb * 1000 // len(LINE)) + "\x1b[201~"
        begun = time.perf_counter()
        chat.type(paste)
        chat.wait_for("[pasted text", 60)
        print(f"{size_kb} kB pasted and folded in {(time.perf_counter() - begun) * 1e3:.0f} ms")
        report("key press to paint after", key_presses(chat))
        chat.close()


def key_presses(chat: Terminal) -> list[float]:
    """Seconds from each key to its paint."""
    took = []
    for i in range(KEYS):
        chat.painted = b""
        key = KEYS_TYPED[i % len(KEYS_TYPED)]
        chat.type(key)
        took.append(chat.wait_for(key, 10))
        time.sleep(0.05)
    return took


def report(what: str, took_s: list[float]) -> None:
    ordered = sorted(took_s)
    print(
        f"{what}: median {statistics.median(ordered) * 1e3:.1f} ms, "
        f"95th percentile {ordered[int(len(ordered) * 0.95)] * 1e3:.1f} ms, longest {ordered[-1] * 1e3:.1f} ms"
    )


if __name__ == "__main__":
    main()
