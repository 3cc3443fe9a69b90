"""The user's ``config.toml``: reading it, with the line of each value and mistake, and changing one value at a time.

Reading never fails: a mistake becomes a ``Problem``, and everything else counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localspec.base.bounded_file import read_file
from localspec.base.errors import OWN_FOLDER, ConfigError, LocalSpecError, explaining
from localspec.base.file_lock import folder_lock
from localspec.base.paths import user_paths
from localspec.base.shared_file import file_stamp, replace_file
from localspec.base.visible import is_text
from localspec.config.editing import NotSafelyChanged, with_value
from localspec.config.kinds import RefusedValue, TextOrFile, Value, literal
from localspec.config.servers import SERVER_KEYS, SERVERS_TABLE, McpServer, WrongServer, parse_server
from localspec.config.setting import PAIR_TABLES, Setting
from localspec.config.statements import Path as Names
from localspec.config.statements import Statement, Unreadable, dotted, statements, values
from localspec.config.table import KEYS_SECTION, SECTIONS, SETTINGS, find_key, find_setting
from localspec.config.text_folder import check_persona
from localspec.config.texts import MOST_BYTES


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake in the file, which is left out."""

    path: Path
    line: int | None
    what: str
    """A sentence without its full stop."""

    def __str__(self) -> str:
        place = f"{self.path}, line {self.line}" if self.line else f"{self.path}"
        return f"{place}: {self.what}{'' if self.what.endswith('?') else '.'}"


@dataclass(frozen=True, slots=True)
class Config:
    """The content of the file, as far as it is valid."""

    path: Path
    values: Mapping[str, Value] = field(default_factory=dict)
    """The values for all pairs, by ``section.key``."""
    pairs: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    """The values for one pair alone, by its id and ``section.key``; the pair need not exist."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys of actions, by the action's id; the action need not exist."""
    servers: Mapping[str, McpServer] = field(default_factory=dict)
    """MCP servers, by name."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """The line of each value, by the name that ``Setting.name_in`` gives it."""
    problems: tuple[Problem, ...] = ()
    stamp: tuple[int, int] | None = None
    """The file's time and size when it was read; None if there is no file."""

    def of_pair(self, pair: str | None) -> Mapping[str, Value]:
        """The values for that pair alone; for None those for all pairs."""
        return self.values if pair is None else self.pairs.get(pair, {})

    def line(self, setting: Setting, pair: str | None = None) -> int | None:
        """The line that sets it, for all pairs or for one; None if none does."""
        return self.lines.get(setting.name_in(pair))

    def problem(self, name: str, what: str) -> Problem:
        """A problem with a value that is valid by itself."""
        return Problem(self.path, self.lines.get(name), what)

    @property
    def changed_on_disk(self) -> bool:
        return file_stamp(self.path) != self.stamp


def config_file() -> Path:
    return user_paths().config / "config.toml"


def read_config(path: Path | None = None) -> Config:
    """The settings in ``path``, by default the user's file."""
    path = path or config_file()
    stamp = file_stamp(path)
    try:
        text = read_file(path, MOST_BYTES).decode("utf-8-sig", errors="surrogateescape")
    except FileNotFoundError:
        return Config(path)
    except OSError as error:
        return Config(path, problems=(Problem(path, None, f"it cannot be read: {error.strerror or error}"),))
    return _config_of(path, text, stamp)


def _config_of(path: Path, text: str, stamp: tuple[int, int] | None) -> Config:
    """The settings in the text of a file."""
    reading = _Reading(path, text)
    return Config(
        path,
        reading.values,
        reading.pairs,
        reading.keys,
        reading.servers(),
        reading.lines,
        tuple(reading.problems),
        stamp,
    )


def write_value(
    setting: Setting,
    value: Value | None,
    pair: str | None = None,
    *,
    check: Callable[[Config], None] = lambda _: None,
) -> Config:
    """Set a value in the file, for all pairs or for one, or take it out for None, and read the file again.

    Changes that others made to the file meanwhile stay. ``check`` is given the settings as they would be, and may raise
    to leave the file as it is. Raises ConfigError.
    """
    return _write({setting.place(pair): value}, setting.name_in(pair), check)


def write_together(values: Mapping[Setting, Value | None]) -> Config:
    """As ``write_value`` for all pairs, with several settings: all of them are written, or none. Raises ConfigError."""
    changes = {setting.place(): value for setting, value in values.items()}
    return _write(changes, " and ".join(setting.name_in() for setting in values))


def write_server(name: str, server: McpServer | None) -> Config:
    """Set an MCP server in the user's file, in place of one of that name, or take that out for None.

    With variables or headers, which are secrets, the file becomes readable by its owner alone. Returns the file as read
    again. Raises ConfigError.
    """
    before = read_config().servers.get(name)
    own = () if before is None else (*reversed(before.values()), *((key,) for key in SERVER_KEYS))
    changes: dict[Names, Value | None] = {(SERVERS_TABLE, name, *key): None for key in own}
    changes |= {(SERVERS_TABLE, name, *key): value for key, value in (server.values() if server else {}).items()}
    secret = server is not None and bool(server.env or server.headers)
    return _write(changes, dotted((SERVERS_TABLE, name)), private=secret)


def _write(
    changes: Mapping[Names, Value | None],
    name: str,
    check: Callable[[Config], None] = lambda _: None,
    *,
    private: bool = False,
) -> Config:
    """Set values by their paths, or take them out for None, and read the file again.

    A ``private`` file is readable by its owner alone from then on.

    Raises ConfigError, and what ``check`` raises.
    """
    path = config_file()
    with explaining(ConfigError, f"{path} cannot be written", OWN_FOLDER), folder_lock(path):
        before = read_file(path, MOST_BYTES) if path.exists() else b""
        try:
            mark = "utf-8-sig" if before.startswith(b"\xef\xbb\xbf") else "utf-8"
            text = before.decode(mark)
            for place, value in changes.items():
                text = with_value(text, place, value)
            check(_config_of(path, text, None))
            if private:
                path.touch(mode=0o600)
                path.chmod(path.stat().st_mode & 0o700)
            replace_file(path, text.encode(mark))
        except (NotSafelyChanged, UnicodeError):
            raise ConfigError(
                f"{path} sets {name} in a way that is not changed safely.", "Change it by hand."
            ) from None
    return read_config(path)


class _Reading:
    """The values of a file, collected statement by statement."""

    def __init__(self, path: Path, text: str) -> None:
        self.values: dict[str, Value] = {}
        self.pairs: dict[str, dict[str, Value]] = {}
        self.keys: dict[str, str] = {}
        self.lines: dict[str, int] = {}
        self.problems: list[Problem] = []
        self._servers: dict[str, dict[str, Any]] = {}
        self._path = path
        self._refused: Names | None = None
        """The table being read, if it is unknown: it was refused as a whole."""
        for entry in statements(text):
            if isinstance(entry, Unreadable):
                self._refuse(entry.line, f"this is no TOML: {_lower(entry.why)}")
            elif not is_text(text[entry.start : entry.end]):
                self._refuse(entry.line, "this is not UTF-8 text")
            elif not entry.key:
                self._refused = None if self._open(entry) else entry.table
            elif self._refused is None:
                for names, value in values(text, entry).items():
                    self._take(names, value, entry.line)

    def _open(self, header: Statement) -> bool:
        """Begin a table; False if it is unknown."""
        known = (*SECTIONS, KEYS_SECTION, PAIR_TABLES, SERVERS_TABLE)
        if header.table[0] in (PAIR_TABLES, SERVERS_TABLE) and len(header.table) <= 2:
            return True
        if header.table[0] == SERVERS_TABLE and len(header.table) == 3:
            return True
        if header.table[0] == PAIR_TABLES:
            self._refuse(header.line, _no_pair_table(header.table))
        elif len(header.table) != 1 or header.table[0] not in known:
            self._refuse(header.line, _unknown("section", dotted(header.table), known))
        else:
            return True
        return False

    def _take(self, names: Names, value: object, line: int) -> None:
        name = dotted(names)
        if names[0] == PAIR_TABLES and (len(names) > 1 or value == {}):
            self._take_pairs(names, value, line)
        elif names[0] == SERVERS_TABLE and len(names) > 1:
            self._take_server(names, value, line)
        elif name in self.lines:
            self._refuse(line, f"{name} is set a second time; line {self.lines[name]} counts")
        elif len(names) == 2 and names[0] == KEYS_SECTION:
            self._take_keys(names[1], value, line)
        elif (setting := find_setting(name)) is not None:
            self._take_value(setting, value, line)
        else:
            self._refuse(line, _unknown("setting", name, [each.name for each in SETTINGS]))

    def _take_server(self, names: Names, value: object, line: int) -> None:
        """Take a value in the table of an MCP server; ``servers`` checks it."""
        self.lines.setdefault(dotted(names[:2]), line)
        held = self._servers.setdefault(names[1], {})
        for name in names[2:-1]:
            inner = held.setdefault(name, {})
            held = inner if isinstance(inner, dict) else {}
        if len(names) > 2:
            held[names[-1]] = value

    def servers(self) -> dict[str, McpServer]:
        """The servers; those that cannot be used become problems."""
        found = {}
        for name, data in self._servers.items():
            try:
                found[name] = parse_server(name, data)
            except WrongServer as wrong:
                self._refuse(self.lines[dotted((SERVERS_TABLE, name))], f"{SERVERS_TABLE}.{wrong}")
        return found

    def _take_pairs(self, names: Names, value: object, line: int) -> None:
        """Take a value in the table of a pair."""
        if len(names) < 3:
            if value != {}:
                self._refuse(line, f"{dotted(names)}: it should be a table of settings")
            return
        pair, key = names[1], names[2]
        setting = find_key(key)
        if len(names) > 3:
            self._refuse(line, _no_pair_table(names[:-1]))
        elif setting is None:
            known = [each.name_in(pair) for each in SETTINGS if each.per_pair]
            self._refuse(line, _unknown("setting", dotted(names), known))
        elif not setting.per_pair:
            self._refuse(
                line, f"{dotted(names)}: {setting.title} is the same for all pairs; it stands in [{setting.section}]"
            )
        elif dotted(names) in self.lines:
            self._refuse(line, f"{dotted(names)} is set a second time; line {self.lines[dotted(names)]} counts")
        else:
            self._take_value(setting, value, line, pair)

    def _take_value(self, setting: Setting, value: object, line: int, pair: str | None = None) -> None:
        name = setting.name_in(pair)
        try:
            checked = setting.kind.check(value)
        except RefusedValue as refusal:
            self._refuse(line, f"{name}: {refusal}")
            return
        try:
            _check_there(setting, checked, self._path.parent)
        except LocalSpecError as error:
            self._refuse(line, f"{name}: {_lower(error.message).rstrip('.')}")
            return
        self.lines[name] = line
        held = self.values if pair is None else self.pairs.setdefault(pair, {})
        held[setting.name] = checked

    def _take_keys(self, action: str, value: object, line: int) -> None:
        if not isinstance(value, str) or not value.strip():
            what = f"it should be keys with commas between them, not {literal(value)}"
            self._refuse(line, f"{KEYS_SECTION}.{action}: {what}")
            return
        self.lines[f"{KEYS_SECTION}.{action}"] = line
        self.keys[action] = value

    def _refuse(self, line: int, what: str) -> None:
        self.problems.append(Problem(self._path, line, what))


def _check_there(setting: Setting, value: Value, folder: Path) -> None:
    """Raise NotFoundError or InputError if the file that a value names cannot be read."""
    if isinstance(setting.kind, TextOrFile):
        setting.kind.resolve(value, folder)
    elif setting.key == "persona":
        check_persona(str(value))


def _no_pair_table(table: Names) -> str:
    """A sentence about a table below that of a pair."""
    if table[-1] in SECTIONS:
        within = dotted(table[:-1])
        return f"there is no section {dotted(table)}; what is set for a pair stands in [{within}] itself"
    whole = dotted((PAIR_TABLES, ".".join(table[1:])))
    return f"there is no section {dotted(table)}; an id with a dot in it stands in quotes: [{whole}]"


def _unknown(noun: str, name: str, known: list[str] | tuple[str, ...]) -> str:
    from difflib import get_close_matches

    by_last = {each.rpartition(".")[2]: each for each in known}
    last = name.rpartition(".")[2]
    close = [by_last[last]] if last in by_last else get_close_matches(name, known, n=1)
    close = close or [by_last[each] for each in get_close_matches(last, by_last, n=1)]
    return f"there is no {noun} {name}" + (f"; did you mean {close[0]}?" if close else "")


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
