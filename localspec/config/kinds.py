"""The kinds of values that settings have.

A value has three forms: as TOML has it (``Value``), as a person types it, and as the program takes it, which for many
kinds is another type: ``auto`` is None, a file is a path, ``5=ban`` is a pair of numbers.
"""

from __future__ import annotations

import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, time
from math import inf
from pathlib import Path
from typing import Any

from localspec.base.errors import NotFoundError, UsageError
from localspec.base.paths import user_paths
from localspec.base.plugins import plugin_files
from localspec.base.toml_text import toml_name, toml_string
from localspec.base.visible import shortened
from localspec.config.texts import read_setting, read_text

Value = bool | int | float | str | tuple[str, ...]
"""A value as the file has it; an array of texts is a tuple."""

AUTO = "auto"
OFF = "off"
NONE = "none"
LARGEST_WHOLE = 2**31 - 1
"""llama.cpp counts in 32 bits; a whole number without a bound of its own is bounded by that."""
LARGEST_NUMBER = 3e38
"""llama.cpp calculates with 32 bits, too."""
_LONGEST_SHOWN = 40
_LONGEST_NAME = 256
_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,60}")
"""A word that is a file's name: as it is typed, in small letters."""
_LAST_PORT = 65535


class RefusedValue(ValueError):
    """A value that a setting cannot have; the message says what it should be."""


class ValueKind(ABC):
    """The values that a setting can have."""

    __slots__ = ()

    @property
    @abstractmethod
    def form(self) -> str:
        """The allowed values, in words that go on "it should be ..."."""

    @property
    def metavar(self) -> str:
        """The value in the help of the command line."""
        return "TEXT"

    @abstractmethod
    def check(self, value: object) -> Value:
        """The value, if TOML may have it. Raises RefusedValue."""

    @abstractmethod
    def read(self, text: str) -> Value:
        """The value that a person typed. Raises RefusedValue."""

    def resolve(self, value: Value, folder: Path) -> Any:
        """The value as the program takes it; relative names of files are of ``folder``. Raises LocalSpecError."""
        return value

    def from_option(self, text: str) -> Any:
        """The value as the program takes it, from the command line. Raises RefusedValue, LocalSpecError."""
        return self.resolve(self.read(text), Path())


@dataclass(frozen=True, slots=True)
class Flag(ValueKind):
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
class Choice(ValueKind):
    """One of a few words."""

    words: tuple[str, ...]
    folder: str = ""
    """A folder of the configuration: the names of its TOML files are words, too."""

    @property
    def form(self) -> str:
        own = f", or the name of a TOML file in the folder {self.folder} of the configuration" if self.folder else ""
        return f"one of {', '.join(self.words)}{own}"

    @property
    def all_words(self) -> tuple[str, ...]:
        """The words, and the names of the files that there are now."""
        files = (user_paths().config / self.folder).glob("*.toml") if self.folder else ()
        names = {path.stem for path in files if _FILE_NAME.fullmatch(path.stem)}
        return (*self.words, *sorted(names - set(self.words)))

    def check(self, value: object) -> Value:
        if isinstance(value, str) and (value in self.words or value in self.all_words):
            return value
        return _refuse(self, value)

    def read(self, text: str) -> Value:
        return self.check(text.strip().lower())


@dataclass(frozen=True, slots=True)
class Number(ValueKind):
    """A finite number from ``least`` to ``most``, ``least`` itself only if not ``above``; or a word in its place."""

    least: float = -inf
    most: float = inf
    above: bool = False
    whole: bool = False
    words: tuple[str, ...] = ()
    """``auto`` is None to the program."""
    unit: str = ""
    """The unit in the plural: tokens, seconds."""

    @property
    def form(self) -> str:
        noun = ("a whole number" if self.whole else "a number") + (f" of {self.unit}" if self.unit else "")
        bounds = f" above {self.least:.10g}" if self.above else f" from {self.least:.10g}" if self.least > -inf else ""
        upto = ", up to" if self.above else " to"
        bounds += f"{upto} {self.most:.10g}" if self.most < inf else ""
        return f"{noun}{bounds}" + "".join(f', or "{word}"' for word in self.words)

    @property
    def metavar(self) -> str:
        return "|".join((*self.words, "N" if self.whole else "F"))

    def check(self, value: object) -> Value:
        if isinstance(value, str) and value in self.words:
            return value
        if isinstance(value, bool) or not isinstance(value, int | float) or (self.whole and isinstance(value, float)):
            return _refuse(self, value)
        if not (self.least <= value <= self.most) or (self.above and value == self.least):
            _refuse(self, value)
        if (too_large := excess(value)) and self.most == inf:
            raise RefusedValue(f"it should be {too_large}, not {shortened(str(value), _LONGEST_SHOWN)}")
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

    def resolve(self, value: Value, folder: Path) -> Any:
        if isinstance(value, str):
            return None if value == AUTO else value
        return value if self.whole else float(value)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Text(ValueKind):
    """Any text, or one of a certain form."""

    what: str = "a text"
    pattern: str = r"[\s\S]*"
    noun: str = "TEXT"

    @property
    def form(self) -> str:
        return self.what

    @property
    def metavar(self) -> str:
        return self.noun

    def check(self, value: object) -> Value:
        return value if isinstance(value, str) and re.fullmatch(self.pattern, value) else _refuse(self, value)

    def read(self, text: str) -> Value:
        r"""``\n`` is a line break, ``\\`` a backslash."""
        return self.check(re.sub(r"\\([n\\])", lambda match: "\n" if match[1] == "n" else "\\", text))

    def from_option(self, text: str) -> Any:
        """The text as it stands: a shell has its own ways to write a line break."""
        return self.check(text)


@dataclass(frozen=True, slots=True)
class Addresses(Text):
    """Addresses of servers: HOST:PORT, with commas between several."""

    what: str = "HOST:PORT, with commas between several"
    pattern: str = r"[^,\s:]+:\d{1,5}(\s*,\s*[^,\s:]+:\d{1,5})*"
    noun: str = "HOST:PORT[,HOST:PORT]"

    def check(self, value: object) -> Value:
        text = str(Text.check(self, value))
        for port in re.findall(r":(\d+)", text):
            if not 1 <= int(port) <= _LAST_PORT:
                raise RefusedValue(f"a port is a number from 1 to {_LAST_PORT}, not {port}")
        return text


@dataclass(frozen=True, slots=True)
class TextOrFile(Text):
    """A text, or ``@`` and the name of a UTF-8 file that has it, beside the file of settings if it is relative."""

    what: str = "a text, or @ and the name of a file that has it"
    noun: str = "TEXT|@FILE"

    def resolve(self, value: Value, folder: Path) -> Any:
        text = str(value)
        return read_setting(folder / _path(text[1:])) if text.startswith("@") else text

    def from_option(self, text: str) -> Any:
        if text.startswith("@"):
            return read_text(_path(text[1:]))
        if "\n" not in text and len(text) < _LONGEST_NAME and Path(text).is_file():
            raise UsageError(f"{text} is a file, and taken as the text itself.", f"Write @{text} to read it.")
        return text


@dataclass(frozen=True, slots=True)
class OutFile(Text):
    """The name of a file to write, or ``none``; to the program a path, or None."""

    what: str = f'the name of a file, or "{NONE}"'
    pattern: str = r"[^\0]*[^\0\s][^\0]*"
    noun: str = f"FILE|{NONE}"

    def resolve(self, value: Value, folder: Path) -> Any:
        if value == NONE or isinstance(value, int):
            return None if value == NONE else value
        return folder / _path(str(value))

    def from_option(self, text: str) -> Any:
        return self.resolve(self.check(text), Path())


@dataclass(frozen=True, slots=True)
class Folder(OutFile):
    """The name of a folder, or ``none``; to the program a path, or None."""

    what: str = f'the name of a folder, or "{NONE}"'
    noun: str = f"FOLDER|{NONE}"


@dataclass(frozen=True, slots=True)
class PortOrFile(OutFile):
    """A port of this machine, the name of a file to write, or ``none``."""

    what: str = f'a port from 0 to {_LAST_PORT}, the name of a file, or "{NONE}"'
    noun: str = f"PORT|FILE|{NONE}"

    def check(self, value: object) -> Value:
        number = int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,9}", value.strip()) else value
        if isinstance(number, int) and not isinstance(number, bool):
            if 0 <= number <= _LAST_PORT:
                return number
            raise RefusedValue(f"it should be {self.form}, not {number}")
        return Text.check(self, value)

    def read(self, text: str) -> Value:
        return Text.read(self, text.strip())


@dataclass(frozen=True, slots=True)
class Texts(ValueKind):
    """An array of texts; a single text is an array of one. Its option may be given several times."""

    what: str = "texts"
    pattern: str = r"[\s\S]+"
    noun: str = "TEXT"

    @property
    def form(self) -> str:
        return f"an array of {self.what}, or one of them"

    @property
    def metavar(self) -> str:
        return self.noun

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
        except RefusedValue:
            raise
        except (ValueError, RecursionError):
            return _refuse(self, text)

    def from_options(self, texts: tuple[str, ...]) -> Any:
        """The value as the program takes it, from all that the command line gives. Raises RefusedValue."""
        value = self.resolve(texts, Path())
        for text in texts:
            if not re.fullmatch(self.pattern, text):
                raise RefusedValue(f"{text!r} cannot be one of the {self.what}")
        return value


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


@dataclass(frozen=True, slots=True)
class SequenceBreakers(Texts):
    r"""Texts in which a shell's ``\n``, ``\t`` and ``\r`` are what they stand for; ``none`` alone is no text."""

    noun: str = f"TEXT|{NONE}"

    def resolve(self, value: Value, folder: Path) -> Any:
        escapes = {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\\": "\\"}
        texts = value if isinstance(value, tuple) else (str(value),)
        return () if texts == (NONE,) else tuple(escapes.get(text, text) for text in texts)


@dataclass(frozen=True, slots=True)
class LogitBiases(Texts):
    """Token ids with a bias each: ``ID=BIAS``, ``ID=ban``, and llama.cpp's ``ID+BIAS`` and ``ID-BIAS``.

    To the program they are (id, bias), and ``ban`` is minus infinity.
    """

    what: str = "texts of the form ID=BIAS"
    pattern: str = r"(?P<id>\d{1,9})(=(?P<bias>[^=]+)|(?P<signed>[+-].+))"
    noun: str = "ID=BIAS"

    def check(self, value: object) -> Value:
        texts = Texts.check(self, value)
        self.resolve(texts, Path())
        return texts

    def resolve(self, value: Value, folder: Path) -> Any:
        return tuple(map(self._bias, value if isinstance(value, tuple) else (str(value),)))

    def _bias(self, text: str) -> tuple[int, float]:
        parts = re.fullmatch(self.pattern, text)
        if parts is None:
            raise RefusedValue(f"{text!r} is not of the form ID=BIAS")
        bias = parts["bias"] or parts["signed"]
        try:
            return int(parts["id"]), -inf if bias == "ban" else float(bias)
        except ValueError:
            raise RefusedValue(f"{bias!r} is neither a number nor 'ban'") from None


@dataclass(frozen=True, slots=True)
class Names(ValueKind):
    """``auto``, ``off``, or names out of a few, as an array or with commas between them.

    To the program ``auto`` is None, and everything else a tuple of names.
    """

    package: str
    """The package that the plug-ins are files of; it is not imported."""

    @property
    def known(self) -> tuple[str, ...]:
        return tuple(plugin_files(self.package))

    @property
    def form(self) -> str:
        return f'"{AUTO}", "{OFF}", or names out of {", ".join(self.known)}'

    @property
    def metavar(self) -> str:
        return f"{AUTO}|{OFF}|NAME[,NAME]"

    def check(self, value: object) -> Value:
        names = value.split(",") if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            return _refuse(self, value)
        stripped = tuple(name.strip() for name in names)
        if stripped not in ((AUTO,), (OFF,)) and not (stripped and set(stripped) <= set(self.known)):
            _refuse(self, value)
        return ",".join(stripped)

    def read(self, text: str) -> Value:
        return self.check(text.strip().lower())

    def resolve(self, value: Value, folder: Path) -> Any:
        return None if value == AUTO else () if value == OFF else tuple(str(value).split(","))

    def from_option(self, text: str) -> Any:
        """Any names: one that is unknown is refused with all that are known, once those are at hand."""
        names = tuple(name.strip() for name in text.split(","))
        if not all(names):
            raise RefusedValue(f"{text!r} has an empty name in it")
        if len(names) > 1 and (word := next((word for word in (AUTO, OFF) if word in names), None)):
            raise RefusedValue(f"{word!r} stands alone, not beside other names")
        return self.resolve(",".join(names), Path())


def shown(value: Value) -> str:
    """A value on one line, as a person would type it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(map(_line, value)) if value else "none"
    return f"{value:.10g}" if isinstance(value, float) else _line(str(value))


def _line(text: str) -> str:
    return text.strip().replace("\n", "⏎") if text.strip() else repr(text)


def typed(value: Value) -> str:
    """The text that ``read`` turns back into the value, on one line."""
    if isinstance(value, str):
        return value.replace("\\", "\\\\").replace("\n", "\\n")
    return literal(value) if isinstance(value, tuple | float) else shown(value)


def literal(value: object) -> str:
    """A value as TOML, of any type that TOML has."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{toml_name(name)} = {literal(each)}' for name, each in value.items())} }}"
    if isinstance(value, date | time):
        return value.isoformat()
    return toml_string(value) if isinstance(value, str) else repr(value)


def excess(value: float) -> str | None:
    """The bound of numbers without one of their own, in words, if ``value`` is beyond it; None within it."""
    if isinstance(value, int):
        return f"at most {LARGEST_WHOLE}" if abs(value) > LARGEST_WHOLE else None
    return f"a finite number, at most {LARGEST_NUMBER:g}" if not abs(value) <= LARGEST_NUMBER else None


def _path(text: str) -> Path:
    """The path with its home in place of ``~``. Raises NotFoundError."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise NotFoundError(f"There is no home for {text}.", "Name the file with all of its folders.") from None


def _refuse(kind: ValueKind, value: object) -> Value:
    """Raise RefusedValue."""
    text = shortened(value if isinstance(value, str) else literal(value), _LONGEST_SHOWN)
    raise RefusedValue(f"it should be {kind.form}, not {repr(text) if isinstance(value, str) else text}")
