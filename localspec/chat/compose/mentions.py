"""Files named in a message: ``@path``, or ``@"a path with spaces"``, in which a quote has a backslash before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MENTION = re.compile(r'(?<!\S)@(?:"((?:\\"|[^"\n])+)"|([^\s"]\S*))')
_UNFINISHED = re.compile(r'(?<!\S)@(?:"((?:\\"|[^"\n])*)|([^\s"]?\S*))$')
_CLOSING = ".,;:!?)]}'\""


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention: its place in the text, and the path."""

    start: int
    """The place of the ``@``."""
    end: int
    path: str


def mentions(text: str) -> Iterator[Mention]:
    """Every mention in ``text``; whether there is such a file is another question."""
    for found in _MENTION.finditer(text):
        yield Mention(found.start(), found.end(), _path(found))


def readings(path: str) -> Iterator[str]:
    """The path of a mention as it stands, then without the signs that may end a sentence behind it."""
    yield path
    bare = path.rstrip(_CLOSING)
    if bare and bare != path:
        yield bare


def unfinished(before: str) -> Mention | None:
    """The mention that is being written at the end of ``before``, the text of a line up to the cursor."""
    found = _UNFINISHED.search(before)
    if found is None:
        return None
    return Mention(found.start(), found.end(), _path(found))


def _path(found: re.Match[str]) -> str:
    return str(found[2]) if found[1] is None else str(found[1]).replace('\\"', '"')


def written(path: str) -> str:
    """Write a path as a mention.

    >>> written("src/app.py"), written("my notes.txt")
    ('@src/app.py', '@"my notes.txt"')
    """
    quoted = path.startswith('"') or any(sign.isspace() for sign in path)
    return '@"{}"'.format(path.replace('"', '\\"')) if quoted else f"@{path}"
