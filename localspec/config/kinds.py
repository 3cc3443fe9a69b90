"""What the value of a setting may be: said in words, checked as TOML gives it, read as a person types it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol

Value = bool | int | float | str | tuple[str, ...]
"""A value as the file has it; an array of texts is a tuple."""

AUTO = "auto"
LARGEST_WHOLE = 2**31 - 1
"""llama.cpp counts in 32 bits; what no setting bounds more tightly is bounded by that."""
LARGEST_NUMBER = 3e38
"""llama.cpp reckons with 32 bits, too."""
_LONGEST_SHOWN = 40


class RefusedValue(ValueError):
    """A value that a setting cannot have; the message says what it should be."""


class ValueKind(Protocol):
    """The values that a setting can have."""

    @property
    def form(self) -> str:
        """What a value is, in words that go on "it should be ..."."""
        ...

    def check(self, value: object) -> Value:
        """The value, if it is one of this kind. Raises RefusedValue."""
        ...

    def read(self, text: str) -> Value:
        """The value that a person means by ``text``. Raises RefusedValue."""
        ...


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    @property
    def form(self) -> str:
        return "true or false"

    def check(self, value: object) -> Value:
        return value if isinstance(value, bool) else _refuse(self, value)

    def read(self, text: str) -> Value:
        words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
        word = text.strip().lower()
        return words[word] if word in words else _refuse(self, text)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def form(self) -> str:
        return f"one of {', '.join(self.words)}"

    def check(self, value: object) -> Value:
        return value if isinstance(value, str) and value in self.words else _refuse(self, value)

    def read(self, text: str) -> Value:
        return self.check(text.strip().lower())


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number from ``least`` to ``most``, ``least`` itself only if not ``above``; or a word in its place."""

    least: float = -inf
    most: float = inf
    above: bool = False
    whole: bool = False
    words: tuple[str, ...] = ()

    @property
    def form(self) -> str:
        noun = "a whole number" if self.whole else "a number"
        bounds = f" above {self.least:.10g}" if self.above else f" from {self.least:.10g}" if self.least > -inf else ""
        bounds += f" to {self.most:.10g}" if self.most < inf else ""
        return f"{noun}{bounds}" + "".join(f', or "{word}"' for word in self.words)

    def check(self, value: object) -> Value:
        if isinstance(value, str) and value in self.words:
            return value
        if isinstance(value, bool) or not isinstance(value, int | float) or (self.whole and isinstance(value, float)):
            return _refuse(self, value)
        if not (self.least <= value <= self.most) or (self.above and value == self.least):
            _refuse(self, value)
        if (too_large := excess(value)) and self.most == inf:
            raise RefusedValue(f"it should be {too_large}")
        return value

    def read(self, text: str) -> Value:
        word = text.strip().lower()
        if word in self.words:
            return word
        try:
            return self.check(int(word) if self.whole or re.fullmatch(r"[+-]?\d+", word) else float(word))
        except RefusedValue:
            raise
        except ValueError:
            return _refuse(self, text)


@dataclass(frozen=True, slots=True)
class Text:
    """Any text, or one of a certain form."""

    what: str = "a text"
    pattern: str = r"[\s\S]*"

    @property
    def form(self) -> str:
        return self.what

    def check(self, value: object) -> Value:
        return value if isinstance(value, str) and re.fullmatch(self.pattern, value) else _refuse(self, value)

    def read(self, text: str) -> Value:
        r"""``\n`` is a line break, ``\\`` a backslash."""
        return self.check(re.sub(r"\\([n\\])", lambda match: "\n" if match[1] == "n" else "\\", text))


@dataclass(frozen=True, slots=True)
class TextOrFile(Text):
    """A text, or ``@`` and the name of a UTF-8 file that has it, beside the file of settings if it is relative."""

    what: str = "a text, or @ and the name of a file that has it"


@dataclass(frozen=True, slots=True)
class Texts:
    """An array of texts; a single text is an array of one."""

    what: str = "texts"
    pattern: str = r"[\s\S]+"

    @property
    def form(self) -> str:
        return f"an array of {self.what}, or one of them"

    def check(self, value: object) -> Value:
        items: Sequence[object] = value if isinstance(value, list | tuple) else (value,)
        texts = tuple(item for item in items if isinstance(item, str) and re.fullmatch(self.pattern, item))
        return texts if len(texts) == len(items) else _refuse(self, value)

    def read(self, text: str) -> Value:
        """An array as TOML has it, or one text."""
        if not text.lstrip().startswith("["):
            return self.check(Text().read(text))
        try:
            return self.check(tomllib.loads(f"value = {text}")["value"])
        except (ValueError, RecursionError):
            return _refuse(self, text)


@dataclass(frozen=True, slots=True)
class Names:
    """``auto``, ``off``, or names out of a few, as an array or with commas between them."""

    known: tuple[str, ...]

    @property
    def form(self) -> str:
        return f'"auto", "off", or names out of {", ".join(self.known)}'

    def check(self, value: object) -> Value:
        names = value.split(",") if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            return _refuse(self, value)
        stripped = tuple(name.strip() for name in names)
        if stripped not in (("auto",), ("off",)) and not (stripped and set(stripped) <= set(self.known)):
            _refuse(self, value)
        return ",".join(stripped)

    def read(self, text: str) -> Value:
        return self.check(text.strip().lower())


def shown(value: Value) -> str:
    """A value in a line, as a person would type it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(map(_line, value)) if value else "none"
    return f"{value:.10g}" if isinstance(value, float) else _line(str(value))


def _line(text: str) -> str:
    return text.strip().replace("\n", "⏎") if text.strip() else repr(text)


def typed(value: Value) -> str:
    """What ``read`` turns back into the value, on one line."""
    if isinstance(value, str):
        return value.replace("\\", "\\\\").replace("\n", "\\n")
    return literal(value) if isinstance(value, tuple | float) else shown(value)


def literal(value: Value) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(literal, value))}]"
    return repr(value) if isinstance(value, int | float) else _quoted(value)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    escaped = escaped.replace("\n", "\\n").replace("\t", "\\t")
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'


def excess(value: float) -> str | None:
    """The bound that a number of which nothing else is asked is beyond, in words; None within it."""
    if isinstance(value, int):
        return f"at most {LARGEST_WHOLE}" if abs(value) > LARGEST_WHOLE else None
    return f"a finite number, at most {LARGEST_NUMBER:g}" if not abs(value) <= LARGEST_NUMBER else None


def _refuse(kind: ValueKind, value: object) -> Value:
    """Raise RefusedValue."""
    text = value if isinstance(value, str) else repr(value)
    text = text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
    raise RefusedValue(f"it should be {kind.form}, not {repr(text) if isinstance(value, str) else text}")
