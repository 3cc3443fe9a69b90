"""Attached files inside the text of a message: written as blocks, and separated from the message again.

For each file a line ``File: PATH``, its text in a code fence, and an empty line; then the message. The fence is longer
than any run of backticks in the text, so that no file can end it. Behind the fence's language may stand a note, such as
which part of the file it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

_BACKTICKS = re.compile("`{3,}")
_OPENING = re.compile(r"File: ([^\n]+)\n(`{3,})([^\n` ]*)(?: ([^\n`]*))?(?=\n)")
_SUFFIX = re.compile(r"[a-z0-9+#]{1,12}")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text, or a part of it, and its name in the message."""

    name: str
    text: str
    note: str = ""
    """The part that it is, as "pages 1-40 of 312"; on one line, without backticks."""

    @property
    def block(self) -> str:
        """The file as the model reads it, without the empty line after it."""
        fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(self.text)), default=2))
        suffix = PurePath(self.name).suffix.removeprefix(".").lower()
        info = f"{suffix if _SUFFIX.fullmatch(suffix) else ''} {self.note}".rstrip()
        end = "" if self.text.endswith("\n") or not self.text else "\n"
        return f"File: {self.name}\n{fence}{info}\n{self.text}{end}{fence}\n"


def split_files(content: str) -> tuple[list[TextFile], str]:
    r"""Split a message into its files and the rest.

    >>> split_files(TextFile("a.py", "print(1)", "line 1 of 9").block + "\n" + "What is this?")
    ([TextFile(name='a.py', text='print(1)\n', note='line 1 of 9')], 'What is this?')
    """
    files: list[TextFile] = []
    at = 0
    while opening := _OPENING.match(content, at):
        closing = f"\n{opening[2]}\n"
        end = content.find(closing, opening.end())
        if end < 0:
            break
        files.append(TextFile(opening[1], content[opening.end() + 1 : end + 1], opening[4] or ""))
        at = end + len(closing)
        at += content.startswith("\n", at)
    return files, content[at:]
