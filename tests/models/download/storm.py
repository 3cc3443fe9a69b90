"""Fault schedules by the hundred, with kills: a script, because it takes minutes.

    python -m tests.models.download.storm --schedules 200 --megabytes 64

Every schedule pulls a pair by the command line in processes of their own, through cuts, silence, refusals, wrong bytes
and content that changes on the way, through lines that break every 700 kB, addresses that run out while the Hub is
away, answers that are none of the Hub's, pages to sign in and small disks. A process is ended (SIGKILL or SIGTERM) at
random moments and another started until all is there. The bytes must be right in the end, nothing wrong may ever lie
under a file's name, and every process must end with the exit code of what happened, and with a sentence. What was sent
twice is counted.
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

from localspec.base.errors import TERMINATED_EXIT_CODE, DownloadError, ModelFileError, PairMismatchError
from tests.gguf_files import TOKENS, Tensor, model
from tests.hub import Cut, HubServer, Refuse
from tests.hub.faults import Stall, WrongBytes, rough_schedule
from tests.models.download.support import BIG, SMALL, noise

FILES = {BIG: "big.gguf", SMALL: "small.gguf"}
VOCABULARY = (*TOKENS, *(f"token {n:9}" for n in range(60_000)))
"""A header of 1.7 MB: longer than a line holds that breaks every 700 kB."""
PAIR = "".join(
    f'[pairs.{role}]\nrepo = "{repo}"\nfile = "{FILES[repo]}"\n' for role, repo in (("target", BIG), ("draft", SMALL))
)
MAX_STARTS = 60


@dataclass
class Tally:
    """The events over all schedules."""

    starts: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    said: Counter[str] = field(default_factory=Counter)
    """Errors, by what they begin with."""
    faults: Counter[str] = field(default_factory=Counter)
    lost_bytes: list[int] = field(default_factory=list)
    """For every end by a signal among cuts and refusals alone: what had been sent, and was not on the disk."""
    extra_bytes: list[int] = field(default_factory=list)
    """For every schedule of cuts and refusals alone: what was sent more than once, without what signals lost."""


@dataclass(frozen=True)
class End:
    """The end of a process."""

    code: int
    out: str
    err: str


def main() -> None:
    """Run the schedules and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    size = options.megabytes * 2**20
    data = {BIG: model_of(size * 3 // 4, 1), SMALL: model_of(size // 4, 2)}
    tally = Tally()
    with HubServer() as server:
        for repo, file in FILES.items():
            server.add(repo, file, data[repo])
        for seed in range(options.first, options.first + options.schedules):
            run(server, seed, data, tally)
            print(f"\r{seed + 1 - options.first} schedules", end="", file=sys.stderr, flush=True)
    report(tally, options.schedules, options.megabytes)


def model_of(size_bytes: int, seed: int) -> bytes:
    """A model whose weights are noise."""
    header = model(tokens=VOCABULARY, tensors=())
    rows = (size_bytes - len(header)) // 4096
    whole = model(tokens=VOCABULARY, tensors=(Tensor("token_embd.weight", (1024, rows)),))
    return whole[: -4096 * rows] + noise(4096 * rows, seed)


def report(tally: Tally, schedules: int, megabytes: int) -> None:
    def counted(what: Counter[str] | Counter[int]) -> str:
        return ", ".join(f"{count} {name}" for name, count in sorted(what.items(), key=lambda each: -each[1]))

    print(f"\n{schedules} schedules on {megabytes} MiB: all bytes right, all exit codes right.")
    print(f"{tally.starts} processes; exit codes: {counted(tally.codes)}.")
    print(f"Faults: {counted(tally.faults)}.")
    print(f"Errors: {counted(tally.said)}.")
    print(f"Sent twice after a signal: at most {max(tally.lost_bytes, default=0):,} bytes.")
    print(f"Sent twice otherwise, where a server let it go on: at most {max(tally.extra_bytes, default=0):,} bytes.")


def run(server: HubServer, seed: int, data: dict[str, bytes], tally: Tally) -> None:
    """One schedule. Raises AssertionError if it ends wrong."""
    rng = random.Random(seed)
    faults, hub_faults = rough_schedule(seed, len(data[BIG]))
    server.faults, server.api_faults, server.requests, server.etag_suffix = list(faults), hub_faults, [], ""
    mild = all(
        isinstance(fault, Cut | Stall) or (isinstance(fault, Refuse) and fault.status != 416) for fault in faults
    )
    tally.faults.update(type(fault).__name__ for fault in (*faults, *filter(None, hub_faults)))
    sent_before, lost = bodies(server), 0
    with tempfile.TemporaryDirectory(prefix="localspec-storm-") as home:
        write_pair(home)
        for _ in range(MAX_STARTS):
            begun, held_before = bodies(server), held(home, data)
            end, by = attempt(server, home, rng, sum(map(len, data.values())))
            tally.starts += 1
            tally.codes[end.code] += 1
            prove_names(home, data)
            prove_end(f"seed {seed}, {by}: {end}", end, by, tally, wrong=WrongBytes in map(type, faults))
            if mild and by is not None:
                tally.lost_bytes.append(max(0, bodies(server) - begun - max(0, held(home, data) - held_before)))
                lost += tally.lost_bytes[-1]
            if end.code == 0:
                break
        for repo in FILES:
            final = path_of(home, repo)
            assert final is not None, f"seed {seed}: {repo} never arrived"
            assert final.read_bytes() == data[repo], f"seed {seed}: {repo} is not right"
    if mild:
        tally.extra_bytes.append(bodies(server) - sent_before - sum(map(len, data.values())) - lost)


def bodies(server: HubServer) -> int:
    """Bytes sent without those that were asked for as headers."""
    return server.sent_bytes - server.sent_ahead_bytes


def write_pair(home: str) -> None:
    own = Path(home, "config", "pairs.toml")
    own.parent.mkdir()
    own.write_text(f'[[pairs]]\nid = "mine"\ntitle = "Mine"\n{PAIR}', encoding="utf-8")


def attempt(server: HubServer, home: str, rng: random.Random, size_bytes: int) -> tuple[End, signal.Signals | None]:
    """Start a process and let it work, or end it when the server has sent so much; and by which signal it was ended."""
    number = rng.choice((signal.SIGKILL, signal.SIGTERM)) if rng.random() < 0.4 else None
    end_at = server.sent_bytes + rng.randint(0, size_bytes)
    endpoint = "http://127.0.0.1:99999" if rng.random() < 0.05 else server.endpoint
    disk_mb = rng.choice(((), (), ("220",), (str(size_bytes // 2**21),)))
    due = threading.Event()
    server.on_bytes = lambda sent: due.set() if sent >= end_at else None
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.models.download.pulling", "mine", *disk_mb],
        env=os.environ | {"HF_ENDPOINT": endpoint, "HF_HOME": f"{home}/hf", "LOCALSPEC_HOME": home},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    sent = None
    while process.poll() is None:
        if number is not None and due.wait(0.02):
            process.send_signal(number)
            sent = number
            break
        if number is None:
            break
    out, err = process.communicate()
    server.on_bytes = None
    return End(process.returncode, out, err), sent


def prove_end(where: str, end: End, by: signal.Signals | None, tally: Tally, *, wrong: bool) -> None:
    """The exit code is that of what happened, and a sentence was said of it."""
    assert "Traceback" not in end.err, where
    assert "unexpected" not in end.err, where
    if end.code == 0:
        assert end.out == "mine is here: localspec --pair mine\n", where
    elif end.code == TERMINATED_EXIT_CODE:
        assert by is signal.SIGTERM, where
        assert end.err.endswith("Stopped. What has arrived is kept; run the command again to go on.\n"), where
    elif end.code in (-signal.SIGKILL, -signal.SIGTERM):
        assert by == -end.code, where  # SIGTERM without a word only where all had been said
        assert by is signal.SIGKILL or end.out, where
    else:
        # Nothing proves a header: one with a wrong byte, twice in a row, is of no model, or of no pair.
        unproved = {ModelFileError.exit_code, PairMismatchError.exit_code} if wrong else set[int]()
        assert end.code in {DownloadError.exit_code} | unproved, where
        error = end.err.splitlines()[-1]
        assert error.startswith("localspec: "), where
        tally.said[" ".join(word for word in error.split()[1:6] if not word.startswith(("http", "/")))] += 1


def held(home: str, data: dict[str, bytes]) -> int:
    """Bytes of the files on the disk, proved or not."""
    return sum(held_of(home, repo, data[repo]) for repo in FILES)


def held_of(home: str, repo: str, data: bytes) -> int:
    name = hashlib.sha256(data).hexdigest()
    blobs = repo_folder(home, repo) / "blobs"
    sizes = [path.stat().st_size for path in (blobs / name, blobs / f"{name}.localspec.part") if path.exists()]
    return max(sizes, default=0)


def repo_folder(home: str, repo: str) -> Path:
    return Path(home, "hf", "hub", f"models--{repo.replace('/', '--')}")


def path_of(home: str, repo: str) -> Path | None:
    found = list((repo_folder(home, repo) / "snapshots").glob(f"*/{FILES[repo]}"))
    return found[0] if found else None


def prove_names(home: str, data: dict[str, bytes]) -> None:
    """Whatever lies under a file's name is the file."""
    for repo in FILES:
        path = path_of(home, repo)
        assert path is None or path.read_bytes() == data[repo], f"{path} is wrong"


if __name__ == "__main__":
    main()
