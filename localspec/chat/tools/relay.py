"""A process between LocalSpec and an MCP server, which ends the server when one line of it has no end.

``python -I relay.py COMMAND ARGUMENTS``. The SDK keeps a line in memory until it is complete, and takes longer
for each further piece of it. It drops a line with half a character, as JavaScript writes it of a text that it cut in
two, and waits for the answer; here that becomes U+FFFD. Standard input and standard error are the server's own; only
its lines come through here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence

MOST_LINE = 16_000_000
"""The most bytes of a line: an image of 10 MB fits, written as MCP writes it."""
_PIECE = 65536
_STDOUT = 1
_ESCAPE = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)|\\.")
"""A character as two escapes of JSON, half of one, or any other escape."""


def relayed(program: str, arguments: Sequence[str]) -> list[str]:
    """The arguments with which Python runs a program behind this process."""
    return ["-I", __file__, program, *arguments]


def main() -> None:
    """Run the program and pass its lines on; exit as it does, or with 1."""
    try:
        process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
    except OSError as error:
        sys.exit(f"{sys.argv[1]} cannot be run: {error.strerror or error}")
    assert process.stdout is not None
    begun = bytearray()
    while piece := os.read(process.stdout.fileno(), _PIECE):
        end = piece.rfind(b"\n") + 1
        if end:
            _pass_on(begun + piece[:end])
            begun.clear()
        begun += piece[end:]
        if len(begun) > MOST_LINE:
            process.kill()
            sys.exit(f"It wrote a line of more than {MOST_LINE // 1_000_000} MB, so it was ended.")
    _pass_on(begun)
    sys.exit(process.wait())


def _pass_on(data: bytearray) -> None:
    if b"\\ud" in data.lower():
        data = bytearray(_ESCAPE.sub(lambda escape: rb"\ufffd" if escape[1] else escape[0], data))
    with memoryview(data) as view:
        at = 0
        while at < len(view):
            at += os.write(_STDOUT, view[at:])


if __name__ == "__main__":
    main()
