"""Whether ``localspec bench`` says what a stopwatch beside ``localspec run`` says.

    python -m tests.benchmarks.bench_agreement --target bench-target.gguf --draft bench-draft.gguf [--repeats 5]

Both are run in turns, as processes of their own. The stopwatch knows nothing of our figures: it notes when the lines of
``run --json`` arrive, and divides the tokens after the first round by the time from the first round to the last.
The exit code is 1 if plain or speculative speed differs by more than the share allowed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

PROMPT = "Count from 1 to 100."
ALLOWED = 0.03
_LOCALSPEC = (sys.executable, "-m", "localspec")
WAYS = ("plain", "speculative")


def stopwatch(pair: list[str], way: str, depth: int, tokens: int) -> float:
    """Tokens per second of one reply, by the arrival of its lines."""
    how = ["--spec", "off"] if way == "plain" else ["--depth", str(depth)]
    command = [*_LOCALSPEC, "run", *pair, *how, "--json", "--temperature", "0", "--max-tokens", str(tokens), PROMPT]
    arrivals: list[float] = []
    counts: list[int] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            arrived = time.perf_counter()
            event = json.loads(line)
            if event["event"] == "round":
                arrivals.append(arrived)
                counts.append(len(event["tokens"]))
    return sum(counts[1:]) / (arrivals[-1] - arrivals[0])


def bench(pair: list[str], depth: int, tokens: int, prompts: Path) -> dict[str, float]:
    """Tokens per second of one reply each, as ``localspec bench`` gives them."""
    command = [*_LOCALSPEC, "bench", *pair, "--depth", str(depth), "--temperature", "0", "--tokens", str(tokens)]
    command += ["--repeats", "1", "--prompts", str(prompts), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    samples = json.loads(done.stdout)["pairs"][0]["samples"]
    return {
        "plain" if sample["way"] == "plain" else "speculative": sample["predicted_n"] / sample["predicted_ms"] * 1e3
        for sample in samples
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--target", type=Path)
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    pair = ["--target", str(chosen.target)] if chosen.target else []
    pair += ["--draft", str(chosen.draft)] if chosen.draft else []
    ours: dict[str, list[float]] = defaultdict(list)
    theirs: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        prompts = Path(folder) / "prompts.jsonl"
        prompts.write_text(json.dumps({"prompt": PROMPT}) + "\n", encoding="utf-8")
        for _ in range(chosen.repeats):
            for way, speed in bench(pair, chosen.depth, chosen.tokens, prompts).items():
                ours[way].append(speed)
            for way in WAYS:
                theirs[way].append(stopwatch(pair, way, chosen.depth, chosen.tokens))
    print(f"{'':12} {'bench':>9} {'stopwatch':>9} {'ratio':>7}")
    worst = 0.0
    for way in WAYS:
        ratio = median(ours[way]) / median(theirs[way])
        worst = max(worst, abs(ratio - 1))
        print(f"{way:12} {median(ours[way]):9.2f} {median(theirs[way]):9.2f} {ratio:7.3f}")
    return int(worst > ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
