"""Attached files inside the text of a message: written as blocks, and separated from the message again.

For each file a line ``File: PATH``, its text in a code fence, and an empty line; then the message. The fence is longer
than any run of backticks in the text, so that no file can end it.
"""

from __future__ import annotations

import re
from pathlib import PurePath

_BACKTICKS = re.compile("`{3,}")
_OPENING = re.compile(r"File: ([^\n]+)\n(`{3,})[^\n`]*(?=\n)")
_SUFFIX = re.compile(r"[a-z0-9+#]{1,12}")


def file_block(name: str, text: str) -> str:
    """The block of a file, without the empty line after it."""
    fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(text)), default=2))
    suffix = PurePath(name).suffix.removeprefix(".").lower()
    language = suffix if _SUFFIX.fullmatch(suffix) else ""
    end = "" if text.endswith("\n") or not text else "\n"
    return f"File: {name}\n{fence}{language}\n{text}{end}{fence}\n"


def split_files(content: str) -> tuple[list[tuple[str, str]], str]:
    r"""Split a message into its files, each a name and a text, and the rest.

    >>> split_files(file_block("a.py", "print(1)") + "\n" + "What is this?")
    ([('a.py', 'print(1)\n')], 'What is this?')
    """
    files, at = [], 0
    while opening := _OPENING.match(content, at):
        closing = f"\n{opening[2]}\n"
        end = content.find(closing, opening.end())
        if end < 0:
            break
        files.append((opening[1], content[opening.end() + 1 : end + 1]))
        at = end + len(closing)
        at += content.startswith("\n", at)
    return files, content[at:]
