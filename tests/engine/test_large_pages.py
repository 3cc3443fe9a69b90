"""Large pages are asked for in time, and for what is worth it alone."""

from __future__ import annotations

import mmap
import subprocess
import sys
from pathlib import Path

import pytest

from localspec.engine.backends.llama.large_pages import LEAST_BYTES, ask_for_large_pages, own_regions
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.cancel import Cancellation
from tests.builtin import TARGET

MIB = 2**20
needs_large_pages = pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage/enabled").exists(), reason="the system has no large pages"
)


def line(begin: int, end: int, rights: str = "rw-p", rest: str = "00000000 00:00 0") -> str:
    return f"{begin:x}-{end:x} {rights} {rest}"


class TestRegions:
    def test_begin_and_end_at_borders_of_large_pages(self) -> None:
        assert list(own_regions(line(MIB + 4096, 13 * MIB), 4 * MIB)) == [(2 * MIB, 12 * MIB)]

    @pytest.mark.parametrize(
        "other",
        [
            line(0, 64 * MIB, "r--p"),
            line(0, 64 * MIB, "rw-s"),
            line(0, 64 * MIB, "---p"),
            line(0, 64 * MIB, rest="00000000 fe:01 4711 /models/some model.gguf"),
            line(0, 64 * MIB, rest="00000000 00:00 0 [heap]"),
            line(MIB, 5 * MIB + 4096),
        ],
    )
    def test_of_files_of_others_and_small_ones_are_left_alone(self, other: str) -> None:
        """The last one is large enough only before it is cut to the borders."""
        maps = "\n".join([other, line(64 * MIB, 68 * MIB)])
        assert list(own_regions(maps, 4 * MIB)) == [(64 * MIB, 68 * MIB)]


def advised_bytes() -> int:
    """How much of this process's memory large pages were asked for, as the system has it."""
    advised, size = 0, 0
    for entry in Path("/proc/self/smaps").read_text(encoding="utf-8", errors="replace").splitlines():
        if entry.startswith("Size:"):
            size = int(entry.split()[1]) * 1024
        elif entry.startswith("VmFlags:") and "hg" in entry.split():
            advised += size
    return advised


@needs_large_pages
class TestAsking:
    def test_the_system_hears_of_it(self) -> None:
        before = advised_bytes()
        with mmap.mmap(-1, 64 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS):
            assert ask_for_large_pages(32 * MIB) >= 60 * MIB
            assert advised_bytes() - before >= 60 * MIB

    def test_weights_are_written_after_it(self) -> None:
        """They would have small pages for good otherwise. In a process whose memory was never anything else's."""
        said = subprocess.run(
            [sys.executable, "-m", "tests.engine.test_large_pages"], capture_output=True, text=True, check=True
        )
        assert int(said.stdout) >= LEAST_BYTES


def advised_before_weights() -> int:
    """For how many bytes more than before large pages are asked for when the first weight is read."""
    before, seen = advised_bytes(), list[int]()
    LlamaModel.open(
        LoadSettings(TARGET, 4, 256, mmap=False), Cancellation(), lambda _: seen.append(advised_bytes())
    ).close()
    return seen[0] - before


if __name__ == "__main__":
    print(advised_before_weights())
