"""Imported at the start of every Python process that has this folder on PYTHONPATH: tells its memory on a signal.

At SIGUSR2 the process collects garbage and writes the bytes that malloc has handed out and the blocks of Python's own
allocator that are in use to the file PID.json in the folder that ``MEMORY_PROBE`` names.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType

_FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"


class _Mallinfo(ctypes.Structure):
    """Glibc's struct mallinfo2."""

    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS.split()]


def _tell(signal_number: int, frame: FrameType | None) -> None:
    gc.collect()
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = _Mallinfo
    heap = mallinfo()
    told = json.dumps({"malloc": heap.uordblks + heap.hblkhd, "blocks": sys.getallocatedblocks()})
    path = Path(os.environ["MEMORY_PROBE"]) / f"{os.getpid()}.json"
    path.with_suffix(".new").write_text(told)
    path.with_suffix(".new").replace(path)


if "MEMORY_PROBE" in os.environ:
    signal.signal(signal.SIGUSR2, _tell)
