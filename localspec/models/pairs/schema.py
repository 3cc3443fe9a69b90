"""The parser of files of pairs (``models.toml``, the user's ``pairs.toml``), checked field by field.

The schema is described at the top of ``models.toml``. Every error names the file, the line, the field and the expected
value.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from math import inf
from pathlib import Path
from typing import NoReturn

from localspec.base.bounded_file import read_file
from localspec.base.errors import ConfigError
from localspec.base.visible import shortened
from localspec.gguf.draft_heads import DRAFT, DRAFTERS
from localspec.models.pairs.pair import ModelFile, Pair, RecommendedSampling

PAIR_ID = re.compile(r"[a-z0-9][a-z0-9._-]*")
_REPO = re.compile(r"(?!\.+/)[\w.-]+/(?!\.+$)[\w.-]+")
_SHA256 = re.compile(r"[0-9a-f]{64}")
MOST_BYTES = 4_000_000
"""The largest file of pairs, which has tens of thousands."""
_LARGEST = 2**63 - 1
"""The largest integer that TOML guarantees."""
_HINT = "models.toml, which comes with LocalSpec, describes every field at its top."


def read_pairs(path: Path, *, locate: Callable[[str], Path], shipped: bool = False) -> tuple[Pair, ...]:
    """Read the pairs in a file; ``locate`` turns a file name in it into a path.

    A file that is not ``shipped`` may be missing. Raises ConfigError.
    """
    text = read_text(path, optional=not shipped)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.", _HINT) from error
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else "a number in it is too long"
        raise ConfigError(f"{path} is not valid TOML: {why}.", _HINT) from error
    source = _Source(path, text)
    top = _Fields(source, document, ())
    pairs: dict[str, Pair] = {}
    for fields in top.tables("pairs"):
        pair = _pair(fields, locate, shipped)
        if pair.id in pairs:
            fields.refuse("id", f"the pair {pair.id!r} is in the file twice")
        pairs[pair.id] = pair
    top.end()
    return tuple(pairs.values())


def read_text(path: Path, *, optional: bool) -> str:
    """The text of a file of pairs; empty if an ``optional`` one is missing. Raises ConfigError."""
    try:
        return read_file(path, MOST_BYTES).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from error
    except OSError as error:
        if optional and isinstance(error, FileNotFoundError):
            return ""
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.", "Check its permissions.") from error


def _pair(fields: _Fields, locate: Callable[[str], Path], shipped: bool) -> Pair:
    target = fields.table("target")
    if target is None:
        fields.refuse("target", "a pair needs a [pairs.target] table")
    draft, projector = fields.table("draft"), fields.table("projector")
    heads = fields.table("heads")
    sampling = fields.table("sampling")
    pair = Pair(
        id=fields.needed_text("id", PAIR_ID, "lower-case letters, digits, '.', '-' and '_'"),
        title=fields.needed_text("title"),
        target=_model(target, locate, shipped),
        draft=None if draft is None else _model(draft, locate, shipped),
        drafter=_drafter(fields),
        projector=None if projector is None else _model(projector, locate, shipped),
        heads={} if heads is None else _heads(heads, locate, shipped),
        family=fields.text("family") or "",
        memory_gb=fields.whole("memory_gb", least=1),
        recommended=fields.flag("recommended", default=True),
        note=fields.text("note") or "",
        source=fields.text("source") or "",
        speedup_low=fields.number("speedup_low"),
        speedup_high=fields.number("speedup_high"),
        tour=fields.flag("tour"),
        pace_tokens_per_second=fields.number("pace_tokens_per_second", least=1),
        sampling=RecommendedSampling() if sampling is None else _sampling(sampling),
    )
    if (pair.speedup_high or 0) < (pair.speedup_low or 0):
        fields.refuse("speedup_low", "it should come with a 'speedup_high' that is not less")
    if pair.speedup_high is not None and not pair.source:
        fields.refuse("speedup_high", "it should come with a 'source' that reports it")
    fields.end()
    return pair


def _drafter(fields: _Fields) -> str:
    name = fields.text("drafter") or DRAFT
    if name not in DRAFTERS:
        fields.refuse("drafter", f"it should be one of {', '.join(DRAFTERS)}")
    return name


def _heads(fields: _Fields, locate: Callable[[str], Path], shipped: bool) -> dict[str, ModelFile]:
    tables = {name: table for name in DRAFTERS if (table := fields.table(name)) is not None}
    fields.end()
    return {name: _model(table, locate, shipped) for name, table in tables.items()}


def _model(fields: _Fields, locate: Callable[[str], Path], shipped: bool) -> ModelFile:
    file = fields.needed_text("file")
    repo = fields.text("repo", _REPO, "the form owner/name")
    if "\0" in file:
        fields.refuse("file", "a name cannot contain a NUL")
    if repo is not None and (Path(file).is_absolute() or ".." in Path(file).parts):
        fields.refuse("file", "with 'repo' it should be a name within the repository")
    model = ModelFile(
        file=file,
        path=_path(fields, file, locate) if repo is None else None,
        repo=repo,
        revision=fields.text("revision"),
        size_bytes=fields.whole("size_bytes", least=1),
        about_bytes=fields.whole("about_bytes", least=1),
        sha256=fields.text("sha256", _SHA256, "64 hexadecimal digits in lower case"),
        architecture=fields.text("architecture"),
        fingerprint=fields.text("fingerprint", _SHA256, "64 hexadecimal digits in lower case"),
        context_length=fields.whole("context_length", least=1),
        cache_bytes_per_token=fields.whole("cache_bytes_per_token", least=1),
        active_share=fields.number("active_share", most=1),
        licence=fields.text("licence"),
        verified=fields.flag("verified", default=repo is None),
        shipped=shipped,
    )
    fields.end()
    return model


def _path(fields: _Fields, file: str, locate: Callable[[str], Path]) -> Path:
    try:
        return locate(str(Path(file).expanduser()))
    except RuntimeError:
        return fields.refuse("file", "the home folder at its beginning is unknown")


def _sampling(fields: _Fields) -> RecommendedSampling:
    sampling = RecommendedSampling(
        temperature=fields.number("temperature"),
        top_k=fields.whole("top_k"),
        top_p=fields.number("top_p", most=1),
        min_p=fields.number("min_p", most=1),
    )
    fields.end()
    return sampling


@dataclass(frozen=True, slots=True)
class _Source:
    """The file that is read, for the line numbers of errors."""

    path: Path
    text: str

    def line(self, place: tuple[str | int, ...]) -> int:
        """The line of a field such as ("pairs", 1, "target", "file"), or of the nearest table around it."""
        names = [name for name in place if isinstance(name, str)]
        ordinal = next((n for n in place if isinstance(n, int)), 0)
        seen, table, found = -1, "", 1
        for number, line in enumerate(self.text.splitlines(), start=1):
            if header := re.match(r"\s*\[+\s*([\w.\s]+?)\s*\]", line):
                table = header[1].replace(" ", "")
                seen += table == names[0]
            inside = seen == ordinal or len(names) == 1
            if inside and header and table in (".".join(names), ".".join(names[:-1])):
                found = number
            field = re.match(r"\s*[\"']?([\w-]+)[\"']?\s*[.=]", line)
            if inside and field and (table, field[1]) == (".".join(names[:-1]), names[-1]):
                return number
        return found


class _Fields:
    """Reads the known fields of one table; ``end`` refuses all others."""

    def __init__(self, source: _Source, table: dict[str, object], place: tuple[str | int, ...]) -> None:
        self._source = source
        self._left = dict(table)
        self._known = set[str]()
        self._place = place

    def refuse(self, key: str, expected: str) -> NoReturn:
        """Raise ConfigError for a field of this table."""
        line = self._source.line((*self._place, key))
        raise ConfigError(f"{self._source.path}, line {line}, field {key!r}: {expected}.", _HINT)

    def needed_text(self, key: str, pattern: re.Pattern[str] | None = None, form: str = "") -> str:
        text = self.text(key, pattern, form)
        return self.refuse(key, "it is required, and should be a text") if text is None else text

    def text(self, key: str, pattern: re.Pattern[str] | None = None, form: str = "") -> str | None:
        value = self._take(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            self.refuse(key, f"it should be a text, not {_shown(value)}")
        if pattern is not None and not pattern.fullmatch(value):
            self.refuse(key, f"it should have {form}, unlike {_shown(value)}")
        return value

    def flag(self, key: str, *, default: bool = False) -> bool:
        value = self._take(key)
        if not isinstance(value, bool | None):
            self.refuse(key, f"it should be true or false, not {_shown(value)}")
        return default if value is None else value

    def whole(self, key: str, *, least: int = 0) -> int | None:
        value = self._take(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _LARGEST:
            self.refuse(key, f"it should be a whole number of at least {least}, not {_shown(value)}")
        return value

    def number(self, key: str, *, least: float = 0, most: float = inf) -> float | None:
        value = self._take(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not _within(value, least, most):
            bounds = f"from {least:g}" if most == inf else f"from {least:g} to {most:g}"
            self.refuse(key, f"it should be a number {bounds}, not {_shown(value)}")
        return float(value)

    def table(self, key: str) -> _Fields | None:
        value = self._take(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.refuse(key, f"it should be a table, not {_shown(value)}")
        return _Fields(self._source, value, (*self._place, key))

    def tables(self, key: str) -> list[_Fields]:
        value = self._take(key)
        items = [] if value is None else value
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            self.refuse(key, f"pairs are written as [[{key}]]")
        return [_Fields(self._source, item, (key, number)) for number, item in enumerate(items)]

    def end(self) -> None:
        """Raise ConfigError for an unknown field."""
        for key in self._left:
            close = get_close_matches(key, self._known, n=1)
            self.refuse(
                key, f"there is no such field; did you mean {close[0]!r}" if close else "there is no such field"
            )

    def _take(self, key: str) -> object:
        self._known.add(key)
        return self._left.pop(key, None)


def _within(value: float, least: float, most: float) -> bool:
    return -_LARGEST <= value <= _LARGEST and least <= value <= most


def _shown(value: object) -> str:
    return shortened(repr(value), 40)
