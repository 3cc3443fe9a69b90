"""Files inside a message, as the model reads them: how one is written, and how they are told from the message again.

The form: for each file a line ``File: PATH``, its text in a fence, and an empty line; then the message.
The fence is longer than any run of backticks in the text, so no file can end it.
"""

from __future__ import annotations

import re
from pathlib import PurePath

_BACKTICKS = re.compile("`{3,}")
_OPENING = re.compile(r"File: ([^\n]+)\n(`{3,})[^\n`]*(?=\n)")
_SUFFIX = re.compile(r"[a-z0-9+#]{1,12}")


def file_block(name: str, text: str) -> str:
    """What the model reads of a file, without the empty line behind it."""
    fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(text)), default=2))
    suffix = PurePath(name).suffix.removeprefix(".").lower()
    language = suffix if _SUFFIX.fullmatch(suffix) else ""
    end = "" if text.endswith("\n") or not text else "\n"
    return f"File: {name}\n{fence}{language}\n{text}{end}{fence}\n"


def parted(content: str) -> tuple[list[tuple[str, str]], str]:
    r"""The files that a message begins with, each its name and its text to the last line's end; and what follows them.

    >>> parted(file_block("a.py", "print(1)") + "\n" + "What is this?")
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
