"""The settings as the reader has them: what is typed into the filter, which one is marked, what is being changed.

Pure but for the file, which is written through ``write`` and read through ``read``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from localspec.base.errors import UsageError
from localspec.chat.commands.keymap import resolve_keymap
from localspec.chat.settings.conversation import short
from localspec.config import SETTINGS, Applies, Config, Problem, Setting, Value, find_setting, read_config, setting
from localspec.config.file import write_value
from localspec.config.kinds import AUTO, Choice, Flag, Names, shown, typed
from localspec.config.personas import NONE, list_personas
from localspec.config.presets import PRESETS
from localspec.config.table import SECTIONS, SOUGHT
from localspec.runtime.chat_config import Layer, Settings

HEADING, PROBLEM, SETTING = "heading", "problem", "setting"
QUIET, TEXT, STRONG, WARNING = "quiet", "text", "strong", "warning"
"""How a part of a row is to look."""
BUILT_IN = "built in"
Part = tuple[str, str]

_MARKS = {Layer.CONVERSATION: "•", Layer.PAIR: "+", Layer.ALL: "*"}
_UNSET = {
    Layer.CONVERSATION: "as for all conversations",
    Layer.PAIR: "as for all pairs",
    Layer.ALL: "as built in",
}
_WHERE = {Layer.CONVERSATION: "in this conversation", Layer.PAIR: "for this pair", Layer.ALL: "in the file"}
_ABOVE = {
    Layer.CONVERSATION: (),
    Layer.PAIR: (Layer.CONVERSATION,),
    Layer.ALL: (Layer.CONVERSATION, Layer.PAIR),
}
"""Who beats it, of those that are not the command line."""
_PRESET = setting("preset")

_NAME_CELLS, _VALUE_CELLS = 21, 22
_ABOUT_FROM = 80
"""Cells from which a row has room for its sentence."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A line of the list."""

    kind: str
    id: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The way to the file."""

    read: Callable[[], Config] = read_config
    write: Callable[[Setting, Value | None, str | None], Config] = write_value
    """For the pair of this id, or for all."""


class InUse(Protocol):
    """The conversation that is open, and the pair that answers."""

    @property
    def settings(self) -> Settings:
        """What is made of the file for the pair."""
        ...

    @property
    def own(self) -> Mapping[str, Value]:
        """What the conversation sets for itself."""
        ...

    def give(self, setting: Setting, value: Value | None) -> None:
        """Set one, or leave it to the file for None. Raises LocalSpecError."""
        ...


@dataclass(frozen=True, slots=True)
class _Found:
    """What follows from the settings, and takes a while to find out."""

    basis: object
    layers: Mapping[str, Layer]
    overrides: Mapping[str, str]


class SettingsBrowser:
    """Every setting in its section, those that pass the filter, one of them marked."""

    def __init__(self, settings: Settings, file: SettingsFile | None = None, in_use: InUse | None = None) -> None:
        """Without ``in_use``, no conversation has settings of its own, and the pair is the one that is set."""
        self.text = ""
        """The filter."""
        self.scope = Layer.ALL
        """Whom changes are for."""
        self._in_use = in_use
        self._given = settings
        self._file = file or SettingsFile()
        self._config = settings.config
        self._marked: str | None = None
        self._found: _Found | None = None

    @property
    def config(self) -> Config:
        return self._config

    @property
    def heading(self) -> str:
        """The file, and how much is in it."""
        count = len(self._config.values)
        parts = [f"{count} set" if count else "nothing set"]
        if self.of_pair:
            parts.append(f"{len(self.of_pair)} for this pair")
        if self.own:
            parts.append(f"{len(self.own)} by this conversation")
        if self.problems:
            parts.append(f"{len(self.problems)} left out")
        return ", ".join(parts)

    @property
    def own(self) -> Mapping[str, Value]:
        """What the open conversation sets for itself."""
        return self._in_use.own if self._in_use is not None else {}

    @property
    def of_pair(self) -> Mapping[str, Value]:
        """What the file has in the table of the pair in use."""
        pair = self._settings.pair_id
        return {} if pair is None else self._config.of_pair(pair)

    @property
    def next_scope(self) -> Layer:
        """The one that ``turn_scope`` goes to."""
        scopes = [Layer.ALL, Layer.PAIR, Layer.CONVERSATION]
        if self._settings.pair_id is None:
            scopes.remove(Layer.PAIR)
        return scopes[(scopes.index(self.scope) + 1) % len(scopes)] if self.scope in scopes else Layer.ALL

    def turn_scope(self) -> str:
        """Change the scope; what to say about it."""
        self.scope = self.next_scope
        return f"What you change is for {self.scope}{'' if self.scope is Layer.ALL else ' alone'}."

    @property
    def scope_title(self) -> str:
        """Whom changes are for, in the title."""
        match self.scope:
            case Layer.ALL:
                return "all"
            case Layer.PAIR:
                return f"{self.scope}, {self._settings.pair_id}"
        return str(self.scope)

    def is_set(self, setting: Setting) -> bool:
        """Whether it is set in the scope, so that it can be reset there."""
        return self._in_scope(setting) is not None

    @property
    def problems(self) -> Sequence[Problem]:
        """What of the file is left out."""
        settings = self._settings
        own = settings.problems if settings.config is self._config else self._config.problems
        return sorted([*own, *resolve_keymap(self._config).problems], key=lambda problem: problem.line or 0)

    def rows(self, width: int) -> list[SettingRow]:
        """The list, in lines of ``width`` cells."""
        rows: list[SettingRow] = []
        problems = [] if self.text else list(enumerate(self.problems))
        if problems:
            rows.append(SettingRow(HEADING, "left-out", (("Left out of the file", WARNING),)))
            rows += [SettingRow(PROBLEM, f"problem-{n}", _problem_parts(problem, width)) for n, problem in problems]
        for title, about, settings in self._sections():
            chosen = [each for each in settings if self._passes(each)]
            if chosen:
                rows.append(SettingRow(HEADING, title, ((title.capitalize(), STRONG), (f"  {about}", QUIET))))
                rows += [SettingRow(SETTING, each.name, self._parts(each, width)) for each in chosen]
        return rows

    def _sections(self) -> Iterator[tuple[str, str, list[Setting]]]:
        """Titles, what each is about, and what is listed there; without a filter what most look for comes first."""
        first = [] if self.text else [setting for name in SOUGHT if (setting := find_setting(name)) is not None]
        yield "often changed", "What most people look for.", first
        for section, about in SECTIONS.items():
            yield section, about, [each for each in SETTINGS if each.section == section and each not in first]

    @property
    def marked(self) -> Setting | None:
        """The setting that is highlighted; None on a problem, or if none passes the filter."""
        return find_setting(self._mark or "")

    @property
    def marked_id(self) -> str | None:
        return self._mark

    def mark(self, row_id: str) -> None:
        self._marked = row_id

    def details(self) -> list[Part]:
        """All about the marked row, a paragraph each."""
        setting = self.marked
        if setting is None:
            marked = [problem for n, problem in enumerate(self.problems) if self._mark == f"problem-{n}"]
            return [(_told(problem), WARNING) for problem in marked]
        lines = [(setting.description, TEXT)]
        built_in = f"built in: {setting.default_words}"
        if (source := self.source(setting)) == BUILT_IN:
            own = "" if self._value(setting) == setting.default_words else f"{self._value(setting)}; "
            lines.append((f"{_capitalised(own + built_in)}.", QUIET))
        else:
            lines.append((f"{self._value(setting)}, {source}; {self._beneath(setting)}{built_in}.", QUIET))
        lines.append((f"It is {setting.kind.form}{self._suggestions(setting)}. Applies {setting.applies}.", QUIET))
        return lines

    def source(self, setting: Setting) -> str:
        """Where the value in force comes from."""
        if setting.option and setting.key in self._by_line:
            return "from the command line, which beats the file"
        file = self._config.path.name
        match self._layer(setting):
            case Layer.CONVERSATION:
                return "by this conversation alone"
            case Layer.PAIR:
                return f"for this pair, line {self._config.line(setting, self._settings.pair_id)} of {file}"
            case Layer.ALL:
                return f"line {self._config.line(setting)} of {file}"
        return BUILT_IN

    def editable(self, setting: Setting) -> str:
        """What stands in the field when the reader begins to change it."""
        value = self._in_scope(setting)
        return "" if value is None else typed(value)

    def steps(self, setting: Setting) -> tuple[Value, ...]:
        """The few values there are to choose from; empty if there are many."""
        match setting.kind:
            case Flag():
                return (True, False)
            case Choice(words):
                return words
            case Names() as names:
                return (AUTO, "off", *names.known)
        if setting.key == "persona":
            return (NONE, *list_personas(self._config.path.parent))
        return ()

    def stepped(self, setting: Setting, step: int) -> Value:
        """The value after or before the one in the file; at first that which is not built in already."""
        values = self.steps(setting)
        value = self._in_scope(setting)
        if value not in values:
            start = next((each for each in values if setting.default.startswith(_word(each))), values[-1])
            value = start
        return values[(values.index(value) + step) % len(values)]

    @property
    def empty(self) -> str:
        """What to say where nothing passes the filter."""
        return "" if self._mark else f"No setting is called {self.text!r}, or says so; Backspace widens the filter."

    def set(self, setting: Setting, value: Value | None) -> Config:
        """Write a value, or take it out of the file or of the conversation. Raises LocalSpecError."""
        if self.scope is Layer.ALL:
            self._config = self._file.write(setting, value, None)
        elif self.scope is Layer.PAIR:
            pair = self._settings.pair_id
            if pair is None or not setting.per_pair:
                raise UsageError(f"{_capitalised(setting.title)} is the same for all pairs.", "Change the scope.")
            self._config = self._file.write(setting, value, pair)
        elif self._in_use is None or not setting.per_conversation:
            raise UsageError(f"{_capitalised(setting.title)} is the same for all conversations.", "Change the scope.")
        else:
            self._in_use.give(setting, value)
        return self._config

    def reread(self) -> bool:
        """Read the file again; whether it had changed on disk."""
        changed = self._config.changed_on_disk
        if changed:
            self._config = self._file.read()
        return changed

    def describe_change(self, setting: Setting, load_key: str) -> str:
        """What to say once the setting was changed."""
        value = self._in_scope(setting)
        what = f"{setting.title}: {short(value) if value is not None else _UNSET[self.scope]}"
        where = _WHERE[self.scope]
        if setting.option and setting.key in self._by_line:
            return f"{what} {where}; the command line has the say."
        layer = self._layer(setting)
        if layer in _ABOVE[self.scope]:
            return f"{what} {where}; {layer} has its own."
        if layer is None and value is not None:
            return f"{what} {where}; what is set for something else leaves no place for it."
        if self.needs_load(setting):
            return f"{what}. {load_key} loads the pair again with it."
        return f"{what}; applies {setting.applies}."

    def needs_load(self, setting: Setting) -> bool:
        """Whether a change takes effect only when the pair is loaded."""
        return setting.applies is Applies.RELOAD

    @property
    def _mark(self) -> str | None:
        """The marked row if it is there, else the first that is called what is typed, or the first there is."""
        ids = [row.id for row in self.rows(_ABOUT_FROM) if row.kind != HEADING]
        if self._marked in ids:
            return self._marked
        called = (each for each in ids if self.text and self.text.lower().replace(" ", "_") in each)
        return next(called, ids[0] if ids else None)

    def _passes(self, setting: Setting) -> bool:
        words = self.text.lower().split()
        searched = f"{setting.name} {setting.title} {setting.description} {self.source(setting)}".lower()
        if any(setting.name in values for values in (self._config.values, self.of_pair, self.own)):
            searched += " set"
        return all(word in searched for word in words)

    def _value(self, setting: Setting) -> str:
        """The value in force, in a few words; empty where there is none."""
        said = self._by_line.get(setting.key) if setting.option else None
        if said is not None:
            return said
        value = self._held(setting)
        if value is not None:
            return shown(value)
        preset = PRESETS.get(self._preset) if setting.section == "sampling" else None
        if preset is not None and hasattr(preset, setting.key):
            return f"{getattr(preset, setting.key):g}, by the preset"
        return setting.default_words

    @property
    def _preset(self) -> str:
        """The preset in force; empty if there is none."""
        return self._by_line.get("preset") or str(self._held(_PRESET) or "")

    @property
    def _settings(self) -> Settings:
        return self._in_use.settings if self._in_use is not None else self._given

    def _layer(self, setting: Setting) -> Layer | None:
        """Who has the say over it; None if nobody sets it, or the command line does."""
        return self._found_out().layers.get(setting.name)

    @property
    def _by_line(self) -> Mapping[str, str]:
        """What the command line has the say over, with its values in words."""
        return self._found_out().overrides

    def _found_out(self) -> _Found:
        """Anew, if what it follows from has changed since."""
        settings = self._settings
        basis = (settings.pair_id, self._config, dict(self.own))
        if self._found is None or self._found.basis != basis:
            self._found = _Found(basis, settings.layers(self._config, self.own), settings.overrides)
        return self._found

    def _held(self, setting: Setting) -> Value | None:
        """The value that counts; None if nobody sets it."""
        layer = self._layer(setting)
        return None if layer is None else self._of(layer).get(setting.name)

    def _in_scope(self, setting: Setting) -> Value | None:
        """The value that a change is a change of."""
        return self._of(self.scope).get(setting.name)

    def _of(self, layer: Layer) -> Mapping[str, Value]:
        values = {Layer.CONVERSATION: self.own, Layer.PAIR: self.of_pair, Layer.ALL: self._config.values}
        return values[layer]

    def _beneath(self, setting: Setting) -> str:
        """What the file says of it besides, in a few words."""
        layer = self._layer(setting)
        below = {Layer.PAIR: "for this pair", Layer.ALL: "for all"}
        said = [
            f"{words} {short(self._of(each)[setting.name])}; "
            for each, words in below.items()
            if each is not layer and setting.name in self._of(each)
        ]
        return "".join(said)

    def _parts(self, setting: Setting, width: int) -> tuple[Part, ...]:
        by_line = setting.option and setting.key in self._by_line
        layer = self._layer(setting)
        mark = _MARKS[layer] if layer is not None else "›" if by_line else " "
        wide = width >= _ABOUT_FROM
        room = _VALUE_CELLS if wide else max(8, width - _NAME_CELLS - 4)
        value = _cut(self._value(setting), room)
        look = STRONG if layer is not None or by_line else QUIET
        parts: tuple[Part, ...] = ((f"{mark} {setting.title:<{_NAME_CELLS}}", TEXT), (value, look))
        if wide:
            left = width - _NAME_CELLS - room - 4
            parts += ((" " * (room - len(value) + 2), QUIET), (_cut(setting.description, left), QUIET))
        return parts

    def _suggestions(self, setting: Setting) -> str:
        if setting.key != "persona":
            return ""
        there = list_personas(self._config.path.parent)
        folder = self._config.path.parent / "personas"
        return f" ({', '.join(there)})" if there else f"; the name of a text file in {folder}"


def _told(problem: Problem) -> str:
    """A problem where everybody knows which file is meant."""
    where = f"Line {problem.line} of {problem.path.name}" if problem.line else problem.path.name
    return f"{where} is left out: {problem.what}{'' if problem.what.endswith('?') else '.'}"


def _problem_parts(problem: Problem, width: int) -> tuple[Part, ...]:
    where = f"  line {problem.line}: " if problem.line else "  "
    return ((where, QUIET), (_cut(problem.what, width - len(where)), WARNING))


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cut(text: str, cells: int) -> str:
    return text if len(text) <= cells else text[: max(0, cells - 1)] + "…"


def _word(value: Value) -> str:
    return "no" if value is False else "yes" if value is True else str(value)
