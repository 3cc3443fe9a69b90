"""Files named in a message: ``@path``, or ``@"a path with spaces"``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MENTION = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|([^\s"]\S*))')
_UNFINISHED = re.compile(r'(?<!\S)@(?:"([^"\n]*)|([^\s"]?\S*))$')
_CLOSING = ".,;:!?)]}'\""


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention: its place in the text, and the path."""

    start: int
    """Of the ``@``."""
    end: int
    path: str


def mentions(text: str) -> Iterator[Mention]:
    """Every mention in ``text``; whether there is such a file is another question."""
    for found in _MENTION.finditer(text):
        yield Mention(found.start(), found.end(), found[1] or found[2])


def readings(mention: Mention) -> Iterator[Mention]:
    """A mention as it stands, then without the signs that may end a sentence behind it."""
    yield mention
    bare = mention.path.rstrip(_CLOSING)
    if bare and bare != mention.path:
        yield Mention(mention.start, mention.end - (len(mention.path) - len(bare)), bare)


def unfinished(before: str) -> Mention | None:
    """The mention that is being written at the end of ``before``, the text of a line up to the cursor."""
    found = _UNFINISHED.search(before)
    if found is None:
        return None
    return Mention(found.start(), found.end(), found[1] if found[1] is not None else found[2])


def written(path: str) -> str:
    """Write a path as a mention.

    >>> written("src/app.py"), written("my notes.txt")
    ('@src/app.py', '@"my notes.txt"')
    """
    return f'@"{path}"' if any(sign.isspace() for sign in path) else f"@{path}"
