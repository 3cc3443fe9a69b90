"""``python -m localspec.store.files.import_process FILE``: conversations of a file, read in a process of its own.

For a screen that must not stand still: to parse JSON, Python holds its lock from beginning to end, whatever the thread,
and 200 MB of it took 3.5 s. Writes one frame after the other, each a pickle behind its length: an error and no more, or
how many conversations follow, and these.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from localspec.base.errors import LocalSpecError
from localspec.store.files.reading import read_conversations

LENGTH = struct.Struct(">Q")
"""What stands before each pickle."""
_NICE = 10
"""The reply that is being written goes first."""


def command(path: Path) -> list[str]:
    """What to start, in the folder that ``path`` is relative to."""
    return [sys.executable, "-P", "-m", __name__, str(path)]


def unpacked(frame: bytes) -> Any:
    """What is in a frame: an error, a number, or a conversation. For frames of our own process alone."""
    return pickle.loads(frame)  # noqa: S301


def main() -> None:
    """Read, and write the frames to standard output."""
    if hasattr(os, "nice"):
        os.nice(_NICE)
    with suppress(BrokenPipeError):  # nobody wants to know any more
        _tell(Path(sys.argv[1]), sys.stdout.buffer)


def _tell(path: Path, out: BinaryIO) -> None:
    try:
        documents = read_conversations(path)
    except LocalSpecError as error:
        _write(out, error)
        return
    _write(out, len(documents))
    for document in documents:
        _write(out, document)


def _write(out: BinaryIO, thing: object) -> None:
    frame = pickle.dumps(thing)
    out.write(LENGTH.pack(len(frame)) + frame)
    out.flush()


if __name__ == "__main__":
    main()
