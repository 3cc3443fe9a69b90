"""Text that remembers which of its characters were given as input, through everything that a template does to it.

llama.cpp calls this input marking (common/jinja/README.md). Text of unknown source counts as input: then a template may
lose a control token, but no message can make one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, SupportsIndex

_OWN, _INPUT = b"\0", b"\1"
_PLAIN_FIELD = re.compile("%[s%]")


class MarkedText(str):
    """A text with a mark for each character: 0 for the template's own, 1 for input."""

    __slots__ = ("marks",)
    marks: bytes

    def __new__(cls, text: str, marks: bytes) -> MarkedText:
        self = super().__new__(cls, text)
        self.marks = marks
        return self

    @staticmethod
    def own(text: str) -> MarkedText:
        """A text of the template, or of its caller."""
        return MarkedText(text, _OWN * len(text))

    @staticmethod
    def given(text: str) -> MarkedText:
        """A text of input: typed, read from a file, or sent."""
        return MarkedText(text, _INPUT * len(text))

    @property
    def is_own(self) -> bool:
        return _INPUT not in self.marks

    def __str__(self) -> str:
        return self

    def __add__(self, other: str) -> MarkedText:
        if not isinstance(other, str) or hasattr(other, "__html__"):  # markupsafe's text escapes what it is added to
            return NotImplemented
        return MarkedText(super().__add__(other), self.marks + marks_of(other))

    def __radd__(self, other: str) -> MarkedText:
        return MarkedText(str.__add__(other, self), marks_of(other) + self.marks)

    def __mul__(self, n: SupportsIndex) -> MarkedText:
        return MarkedText(super().__mul__(n), self.marks * n)

    __rmul__ = __mul__

    def __mod__(self, values: Any) -> MarkedText:
        fields = [match for match in _PLAIN_FIELD.finditer(self) if match[0] == "%s"]
        texts = values if isinstance(values, tuple) else (values,)
        if len(fields) != str.count(self, "%") or len(fields) != len(texts):
            return derived(super().__mod__(values), (self, values))
        ends = [match.start() for match in fields] + [len(self)]
        starts = [0] + [match.end() for match in fields]
        literals = [self[start:end] for start, end in zip(starts, ends, strict=True)]
        return MarkedText.own("").join(
            part for pair in zip(literals, [*map(marked, texts), ""], strict=True) for part in pair
        )

    def __getitem__(self, key: SupportsIndex | slice) -> MarkedText:
        at = key if isinstance(key, slice) else slice(i := range(len(self))[key], i + 1)
        return MarkedText(super().__getitem__(key), self.marks[at])

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def strip(self, chars: str | None = None, /) -> MarkedText:
        return self.lstrip(chars).rstrip(chars)

    def lstrip(self, chars: str | None = None, /) -> MarkedText:
        return self[len(self) - len(super().lstrip(chars)) :]

    def rstrip(self, chars: str | None = None, /) -> MarkedText:
        return self[: len(super().rstrip(chars))]

    def removeprefix(self, prefix: str, /) -> MarkedText:
        return self[len(prefix) :] if self.startswith(prefix) else self

    def removesuffix(self, suffix: str, /) -> MarkedText:
        return self[: len(self) - len(suffix)] if suffix and self.endswith(suffix) else self

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return self._found(super().split(sep, maxsplit), sep)

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return self._found(super().rsplit(sep, maxsplit), sep)

    def splitlines(self, keepends: bool = False) -> list[str]:
        whole = self._found(super().splitlines(True), "")
        return [line[: len(bare)] for line, bare in zip(whole, super().splitlines(keepends), strict=True)]

    def partition(self, sep: str, /) -> tuple[str, str, str]:
        return self._three(super().partition(sep))

    def rpartition(self, sep: str, /) -> tuple[str, str, str]:
        return self._three(super().rpartition(sep))

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> MarkedText:
        if not old:
            return derived(super().replace(old, new, count), (self, new))
        return marked(new).join(self.split(old, count))

    def join(self, parts: Iterable[str], /) -> MarkedText:
        texts = list(parts)
        return MarkedText(super().join(texts), self.marks.join(map(marks_of, texts)))

    def lower(self) -> MarkedText:
        return self._changed(super().lower())

    def upper(self) -> MarkedText:
        return self._changed(super().upper())

    def title(self) -> MarkedText:
        return self._changed(super().title())

    def capitalize(self) -> MarkedText:
        return self._changed(super().capitalize())

    def swapcase(self) -> MarkedText:
        return self._changed(super().swapcase())

    def casefold(self) -> MarkedText:
        return self._changed(super().casefold())

    def _changed(self, text: str) -> MarkedText:
        """Another writing of the same letters. A few letters become two: then the place of each is unknown."""
        return MarkedText(text, self.marks) if len(text) == len(self) else derived(text, (self,))

    def _found(self, pieces: Sequence[str], sep: str | None) -> list[str]:
        """Pieces of this text in order, with ``sep`` between them (white space if None)."""
        found: list[str] = []
        at = 0
        for piece in pieces:
            start = str.find(self, piece, at) if sep is None else at
            at = start + len(piece)
            found.append(self[start:at])
            at += len(sep or "")
        return found

    def _three(self, pieces: tuple[str, str, str]) -> tuple[str, str, str]:
        before, sep, after = self._found(pieces, "")
        return before, sep, after


def marks_of(text: str) -> bytes:
    """A mark for each character; a text without marks is input."""
    return text.marks if isinstance(text, MarkedText) else _INPUT * len(text)


def marked(value: Any) -> MarkedText:
    """A value as a template writes it."""
    if isinstance(value, MarkedText):
        return value
    return derived(str(value), (value,))


def derived(text: str, sources: Iterable[Any]) -> MarkedText:
    """A text made of ``sources`` in an unknown way: the template's own if all of them are."""
    return MarkedText.own(text) if all(map(_is_own, sources)) else MarkedText.given(text)


def _is_own(value: Any) -> bool:
    match value:
        case MarkedText():
            return value.is_own
        case None | bool() | int() | float():
            return True
        case list() | tuple():
            return all(map(_is_own, value))
        case dict():
            return all(_is_own(part) for pair in value.items() for part in pair)
        case _:
            return False
