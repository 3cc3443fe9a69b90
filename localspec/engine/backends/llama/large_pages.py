"""Large pages for weights, so that reading all of them for every token does not wait for address translation.

Most distributions of Linux give a program pages of 4 KiB unless it asks for larger ones: a gigabyte of weights then
has 262,144 of them, far more than a CPU remembers the addresses of. Asked before anything is written, the system
gives pages of 2 MiB from the start. llama.cpp does not ask; what that is worth stands in docs/benchmarks.md.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path

LEAST_BYTES = 8 * 2**20
"""Smaller regions are not worth it, and mostly Python's own."""
_MADV_HUGEPAGE = 14
_PAGE_BYTES = 2 * 2**20
_MAPS = Path("/proc/self/maps")


def ask_for_large_pages(least_bytes: int = LEAST_BYTES) -> int:
    """Ask for them in all of the process's own regions of at least this size; how many bytes that concerns.

    Best called when memory is allocated and not yet written. Does nothing where the system has no such pages, and
    cannot fail: memory is good with small ones, too.
    """
    if not sys.platform.startswith("linux"):
        return 0
    try:
        maps = _MAPS.read_text(encoding="utf-8", errors="replace")
        libc = ctypes.CDLL(None)
        advise = libc.madvise
    except (OSError, AttributeError):
        return 0
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return sum(
        end - begin for begin, end in own_regions(maps, least_bytes) if advise(begin, end - begin, _MADV_HUGEPAGE) == 0
    )


def own_regions(maps: str, least_bytes: int) -> Iterator[tuple[int, int]]:
    """Begin and end, on borders of large pages, of what is private, writable and of no file in a ``/proc/PID/maps``."""
    for line in maps.splitlines():
        span, rights, _, _, inode, *name = line.split(maxsplit=5)
        if not rights.startswith("rw") or not rights.endswith("p") or inode != "0" or name:
            continue
        first, last = (int(address, 16) for address in span.split("-"))
        begin, end = -(-first // _PAGE_BYTES) * _PAGE_BYTES, last // _PAGE_BYTES * _PAGE_BYTES
        if end - begin >= least_bytes:
            yield begin, end
