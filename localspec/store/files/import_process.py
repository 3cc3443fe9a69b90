"""The reading of a file of conversations in a process of its own: ``python -m localspec.store.files.import_process
FILE``.

Python holds its global lock while it parses JSON, which froze the screen for 3.5 s over 200 MB. The process writes
frames, each a pickle after its length: one error, or the number of conversations and then each of them.
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
"""The length before each pickle."""
_NICE = 10
"""The niceness of the process, so that a running reply has priority."""


def command(path: Path) -> list[str]:
    """The command to start, in the folder that ``path`` is relative to."""
    return [sys.executable, "-P", "-m", __name__, str(path)]


def unpacked(frame: bytes) -> Any:
    """The content of a frame: an error, a number, or a conversation. Only for frames of our own process."""
    return pickle.loads(frame)  # noqa: S301


def main() -> None:
    """Read the file and write the frames to standard output."""
    os.nice(_NICE)
    with suppress(BrokenPipeError):  # the reader has gone
        _send(Path(sys.argv[1]), sys.stdout.buffer)


def _send(path: Path, out: BinaryIO) -> None:
    try:
        documents = read_conversations(path)
    except LocalSpecError as error:
        _write(out, error)
        return
    _write(out, len(documents))
    for document in documents:
        _write(out, document)


def _write(out: BinaryIO, content: object) -> None:
    frame = pickle.dumps(content)
    out.write(LENGTH.pack(len(frame)) + frame)
    out.flush()


if __name__ == "__main__":
    main()
