"""What the values of settings about records may be, beyond the common kinds."""

from __future__ import annotations

import re
from dataclasses import dataclass

from localspec.config.kinds import RefusedValue, Text, Texts, Value

NONE = "none"
"""In place of a file or port: there is to be none."""
_LAST_PORT = 65535


@dataclass(frozen=True, slots=True)
class OutFile(Text):
    """The name of a file to write, or ``none``."""

    what: str = f'the name of a file, or "{NONE}"'
    pattern: str = r"[^\0]*[^\0\s][^\0]*"


@dataclass(frozen=True, slots=True)
class PortOrFile(OutFile):
    """A port of this machine, the name of a file to write, or ``none``."""

    what: str = f'a port from 0 to {_LAST_PORT}, the name of a file, or "{NONE}"'

    def check(self, value: object) -> Value:
        number = int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,9}", value.strip()) else value
        if isinstance(number, int) and not isinstance(number, bool):
            if 0 <= number <= _LAST_PORT:
                return number
            raise RefusedValue(f"it should be {self.form}, not {number}")
        return Text.check(self, value)

    def read(self, text: str) -> Value:
        return self.check(text.strip())


@dataclass(frozen=True, slots=True)
class Patterns(Texts):
    """Regular expressions, each a valid one."""

    what: str = "regular expressions of Python's re"

    def check(self, value: object) -> Value:
        texts = Texts.check(self, value)
        for text in texts if isinstance(texts, tuple) else ():
            try:
                re.compile(text)
            except (re.error, OverflowError, RecursionError) as error:
                raise RefusedValue(f"{text!r} is no regular expression: {error}") from None
        return texts
