"""How fast one large file comes, beside ``curl | sha256sum``, and how much memory that takes.

    python -m tests.benchmarks.download --megabytes 1024 --repeats 5

Both fetch the same file from the same server on loopback, in turns. Ours also writes it to the disk; so does
``curl | tee FILE | sha256sum``, the fairer comparison, in the third column.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.range_server import serve


def main() -> None:
    """Measure in turns and print medians."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    size = options.megabytes * 2**20
    rows: dict[str, list[float]] = {}
    peaks: list[float] = []
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder), size) as endpoint:
        url = f"{endpoint}/cdn/file.gguf"
        for _ in range(options.repeats):
            rows.setdefault("curl | sha256sum", []).append(shell(f"curl -sS {url} | sha256sum"))
            rows.setdefault("curl | tee | sha256sum", []).append(
                shell(f"curl -sS {url} | tee {folder}/copy | sha256sum")
            )
            seconds, peak = localspec(endpoint)
            rows.setdefault("localspec", []).append(seconds)
            peaks.append(peak)
    reference = statistics.median(rows["curl | sha256sum"])
    for name, taken in rows.items():
        median = statistics.median(taken)
        print(
            f"{name:24} median {median:.2f} s, {size / median / 1e6:6.0f} MB/s "
            f"({min(taken):.2f} to {max(taken):.2f}), {reference / median:.2f} of the first"
        )
    print(f"localspec took at most {max(peaks):.0f} MB of memory")


def shell(command: str) -> float:
    """Seconds a command takes."""
    begun = time.perf_counter()
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def localspec(endpoint: str) -> tuple[float, float]:
    """Seconds from the first byte asked for to the file in its place, without the start of Python; and its peak MB."""
    with tempfile.TemporaryDirectory() as home:
        code = (
            "import resource, time\n"
            "from threading import Event\n"
            "from localspec.models.download.context import DownloadContext\n"
            "from localspec.models.download.downloader import download\n"
            "from localspec.models.download.hub import Hub\n"
            "from localspec.models.pairs.hub_cache import hub_cache\n"
            "with Hub() as hub:\n"
            "    remote = hub.locate('o/n', 'file.gguf', 'main', 'c' * 40)\n"
            "    begun = time.perf_counter()\n"
            "    for _ in download([remote], DownloadContext(hub=hub, cache=hub_cache(), stop=Event())): pass\n"
            "    print(time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)\n"
        )
        environ = os.environ | {"HF_ENDPOINT": endpoint, "HF_HOME": home}
        done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
        seconds, peak = map(float, done.stdout.split())
        return seconds, peak


if __name__ == "__main__":
    main()
