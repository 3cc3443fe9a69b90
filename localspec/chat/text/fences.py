"""Blocks of code in a reply, as they are copied."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^(?P<indent> {0,3})(?P<fence>`{3,}|~{3,})[^`\n]*$")


def code_blocks(markdown: str) -> list[str]:
    r"""The text between fences (CommonMark 4.5); a block that was not closed goes to the end.

    >>> code_blocks("Do this:\n```sh\nls\n```\nThen that.")
    ['ls\n']
    """
    blocks: list[str] = []
    lines: list[str] | None = None
    fence, indent = "", 0
    for line in markdown.split("\n"):
        found = _FENCE.match(line)
        if lines is None:
            if found is not None:
                fence, indent, lines = found["fence"], len(found["indent"]), []
        elif _closes(line, fence):
            blocks.append("".join(f"{each}\n" for each in lines))
            lines = None
        else:
            lines.append(line[min(indent, len(line) - len(line.lstrip(" "))) :])
    if lines is not None:
        blocks.append("".join(f"{each}\n" for each in lines).rstrip("\n") + "\n")
    return blocks


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and set(stripped) == {fence[0]} and len(line) - len(line.lstrip(" ")) < 4
