"""Fault schedules by the hundred, with kills: a script, because it takes minutes.

    python -m tests.download.storm --schedules 200 --megabytes 64

Every schedule fetches a pair in processes of their own, through cuts, silence, refusals, wrong bytes and content that
changes on the way; a process is killed (SIGKILL) at random moments and another started until all is there. The bytes
must be right in the end, and nothing wrong may ever lie under a file's name. What was sent twice is counted.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.download.support import BIG, SMALL, noise
from tests.hub import Cut, HubServer, Refuse
from tests.hub.faults import Stall, schedule

FILES = {BIG: "big.gguf", SMALL: "small.gguf"}
MAX_STARTS = 40


@dataclass
class Tally:
    """What happened over all schedules."""

    kills: int = 0
    starts: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    lost_bytes: list[int] = field(default_factory=list)
    """For every kill among cuts and refusals alone: what had been sent, and was not on the disk."""
    extra_bytes: list[int] = field(default_factory=list)
    """For every schedule of cuts and refusals alone: what was sent more than once, without what kills lost."""


def main() -> None:
    """Run the schedules and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    size = options.megabytes * 2**20
    data = {BIG: noise(size * 3 // 4, 1), SMALL: noise(size // 4, 2)}
    tally = Tally()
    with HubServer() as server:
        for repo, file in FILES.items():
            server.add(repo, file, data[repo])
        for seed in range(options.first, options.first + options.schedules):
            run(server, seed, data, tally)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(tally.faults.items()))
    print(f"{options.schedules} schedules on {options.megabytes} MiB: all bytes right.")
    print(f"{tally.starts} processes started, {tally.kills} killed; faults: {kinds}.")
    print(f"Sent twice after a kill: at most {max(tally.lost_bytes, default=0):,} bytes.")
    print(f"Sent twice otherwise, where a server let it go on: at most {max(tally.extra_bytes, default=0):,} bytes.")


def run(server: HubServer, seed: int, data: dict[str, bytes], tally: Tally) -> None:
    """One schedule. Raises AssertionError if it ends wrong."""
    rng = random.Random(seed)
    faults = schedule(seed, len(data[BIG]))
    server.faults, server.requests, server.etag_suffix = list(faults), [], ""
    mild = all(
        isinstance(fault, Cut | Stall) or (isinstance(fault, Refuse) and fault.status != 416) for fault in faults
    )
    for fault in faults:
        tally.faults[type(fault).__name__] += 1
    sent_before, lost = server.sent_bytes, 0
    with tempfile.TemporaryDirectory(prefix="localspec-storm-") as home:
        for repo, file in FILES.items():
            for _ in range(MAX_STARTS):
                tally.starts += 1
                kill_at = server.sent_bytes + rng.randint(0, len(data[repo])) if rng.random() < 0.4 else None
                begun = server.sent_bytes
                held_before = held(home, repo, data[repo])
                code = attempt(server, home, repo, file, kill_at)
                prove_name(home, repo, file, data[repo])
                tally.kills += code == -signal.SIGKILL
                if code == -signal.SIGKILL and mild:
                    gain = held(home, repo, data[repo]) - held_before
                    tally.lost_bytes.append(max(0, server.sent_bytes - begun - max(0, gain)))
                    lost += tally.lost_bytes[-1]
                if code == 0:
                    break
            final = path_of(home, repo, file)
            assert final is not None, f"seed {seed}: {repo} never arrived"
            assert final.read_bytes() == data[repo], f"seed {seed}: {repo} is not right"
    if mild:
        total = sum(map(len, data.values()))
        tally.extra_bytes.append(server.sent_bytes - sent_before - total - lost)


def attempt(server: HubServer, home: str, repo: str, file: str, kill_at: int | None) -> int:
    """Start a process and let it work, or kill it when the server has sent so much; its exit code."""
    due = threading.Event()
    server.on_bytes = lambda sent: due.set() if kill_at is not None and sent >= kill_at else None
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.download.child", repo, file],
        env=os.environ | {"HF_ENDPOINT": server.endpoint, "HF_HOME": home},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while (code := process.poll()) is None:
        if due.wait(0.02) and code is None:
            process.kill()
            code = process.wait()
            break
    server.on_bytes = None
    return code


def held(home: str, repo: str, data: bytes) -> int:
    """Bytes of the file on the disk, proved or not."""
    name = hashlib.sha256(data).hexdigest()
    blobs = Path(home, "hub", f"models--{repo.replace('/', '--')}", "blobs")
    sizes = [path.stat().st_size for path in (blobs / name, blobs / f"{name}.localspec.part") if path.exists()]
    return max(sizes, default=0)


def path_of(home: str, repo: str, file: str) -> Path | None:
    found = list(Path(home, "hub", f"models--{repo.replace('/', '--')}", "snapshots").glob(f"*/{file}"))
    return found[0] if found else None


def prove_name(home: str, repo: str, file: str, data: bytes) -> None:
    """Whatever lies under the file's name is the file."""
    path = path_of(home, repo, file)
    assert path is None or path.read_bytes() == data, f"{path} is wrong"


if __name__ == "__main__":
    main()
