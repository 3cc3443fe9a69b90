"""The list of settings as a screen shows it: the filter, the marked row, the value and source of each, and changes.

It reads and writes nothing but the file of settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from localspec.base.errors import UsageError
from localspec.base.visible import capitalised, shortened
from localspec.chat.commands.keymap import resolve_keymap
from localspec.chat.settings.conversation import in_words, short
from localspec.config import SETTINGS, Applies, Config, Problem, Setting, Value, find_setting, read_config
from localspec.config.file import write_value
from localspec.config.kinds import AUTO, NONE, Choice, Flag, Names, typed
from localspec.config.table import SECTIONS, SOUGHT
from localspec.config.text_folder import PERSONAS
from localspec.runtime.chat_config import Layer, Settings
from localspec.runtime.effective import EffectiveSetting, SettingSource, effective_settings

HEADING, PROBLEM, SETTING = "heading", "problem", "setting"
QUIET, TEXT, STRONG, WARNING = "quiet", "text", "strong", "warning"
"""The looks of a part of a row."""
Part = tuple[str, str]

_MARKS = {
    SettingSource.OVERRIDE: "›",
    SettingSource.CONVERSATION: "•",
    SettingSource.PAIR: "+",
    SettingSource.FILE: "*",
}
_LAYERS = {
    SettingSource.CONVERSATION: Layer.CONVERSATION,
    SettingSource.PAIR: Layer.PAIR,
    SettingSource.FILE: Layer.ALL,
}
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
"""The layers that beat a layer, besides the command line."""

_NAME_CELLS, _VALUE_CELLS = 21, 22
_ABOUT_FROM = 80
"""Cells from which a row has room for its sentence."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    kind: str
    id: str
    parts: tuple[Part, ...]


class InUse(Protocol):
    """The open conversation and the pair that answers, as far as their settings go."""

    @property
    def settings(self) -> Settings:
        """The settings for that pair."""

    @property
    def own(self) -> Mapping[str, Value]:
        """The settings of the conversation, by ``section.key``."""

    def give(self, setting: Setting, value: Value | None) -> None:
        """Set one, or leave it to the file for None. Raises LocalSpecError."""


class SettingsBrowser:
    """Every setting that passes the filter, in its section, one of them marked."""

    def __init__(self, settings: Settings, in_use: InUse | None = None) -> None:
        """Without ``in_use`` there is no conversation, and the pair is the one that is set."""
        self.text = ""
        """The filter."""
        self.scope = Layer.ALL
        """The layer that changes are made in."""
        self._in_use = in_use
        self._given = settings
        self._config = settings.config
        self._marked: str | None = None
        self._effective: tuple[object, Mapping[str, EffectiveSetting]] | None = None
        """The effective settings, which take a while to find out, behind the state they were found for."""

    @property
    def config(self) -> Config:
        return self._config

    @property
    def heading(self) -> str:
        """The number of settings that are set, by layer, and of those that are left out."""
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
        """The settings of the open conversation."""
        return self._in_use.own if self._in_use is not None else {}

    @property
    def of_pair(self) -> Mapping[str, Value]:
        """The settings in the table of the pair in use."""
        pair = self._settings.pair_id
        return {} if pair is None else self._config.of_pair(pair)

    @property
    def next_scope(self) -> Layer:
        """The scope that ``turn_scope`` changes to."""
        scopes = [Layer.ALL, Layer.PAIR, Layer.CONVERSATION]
        if self._settings.pair_id is None:
            scopes.remove(Layer.PAIR)
        return scopes[(scopes.index(self.scope) + 1) % len(scopes)] if self.scope in scopes else Layer.ALL

    def turn_scope(self) -> str:
        """Change the scope, and return a sentence about it."""
        self.scope = self.next_scope
        return f"What you change is for {self.scope}{'' if self.scope is Layer.ALL else ' alone'}."

    @property
    def scope_title(self) -> str:
        """The scope as the title of the screen names it."""
        match self.scope:
            case Layer.ALL:
                return "all"
            case Layer.PAIR:
                return f"{self.scope}, {self._settings.pair_id}"
        return str(self.scope)

    def is_set(self, setting: Setting) -> bool:
        """True if it is set in the scope, so that it can be reset there."""
        return self._in_scope(setting) is not None

    @property
    def problems(self) -> Sequence[Problem]:
        """The mistakes in the file, which are left out, by line."""
        settings = self._settings
        own = settings.problems if settings.config is self._config else self._config.problems
        return sorted([*own, *resolve_keymap(self._config).problems], key=lambda problem: problem.line or 0)

    def rows(self, width: int) -> list[SettingRow]:
        """The rows of the list, in lines of ``width`` cells."""
        rows: list[SettingRow] = []
        problems = [] if self.text else list(enumerate(self.problems))
        if problems:
            rows.append(SettingRow(HEADING, "left-out", (("Left out of the file", WARNING),)))
            rows += [SettingRow(PROBLEM, f"problem-{n}", _problem_parts(problem, width)) for n, problem in problems]
        for title, about, settings in self._sections():
            chosen = [each for each in settings if self._passes(each)]
            if chosen:
                rows.append(SettingRow(HEADING, title, ((capitalised(title), STRONG), (f"  {about}", QUIET))))
                rows += [SettingRow(SETTING, each.name, self._parts(each, width)) for each in chosen]
        return rows

    def _sections(self) -> Iterator[tuple[str, str, list[Setting]]]:
        """The title of each section, its subject and its settings; without a filter the most sought ones come first."""
        first = [] if self.text else [setting for name in SOUGHT if (setting := find_setting(name)) is not None]
        yield "often changed", "The settings that most people look for.", first
        for section, about in SECTIONS.items():
            yield section, about, [each for each in SETTINGS if each.section == section and each not in first]

    @property
    def marked(self) -> Setting | None:
        """The setting that is highlighted; None on a problem, or if none passes the filter."""
        return find_setting(self.marked_id or "")

    def mark(self, row_id: str) -> None:
        self._marked = row_id

    def details(self) -> list[Part]:
        """The details of the marked row, a paragraph each."""
        setting = self.marked
        if setting is None:
            marked = [problem for n, problem in enumerate(self.problems) if self.marked_id == f"problem-{n}"]
            return [(_describe(problem), WARNING) for problem in marked]
        lines = [(setting.description, TEXT)]
        found, built_in = self._find(setting), f"built in: {setting.default_words}"
        if found.source is SettingSource.BUILT_IN:
            lines.append((f"{capitalised(built_in)}.", QUIET))
        else:
            lines.append((f"{in_words(found)}, {self.source(setting)}; {self._beneath(setting)}{built_in}.", QUIET))
        form = "yes or no" if isinstance(setting.kind, Flag) else f"{setting.kind.form}{self._suggestions(setting)}"
        lines.append((f"It is {form}. Applies {setting.applies}.", QUIET))
        return lines

    def source(self, setting: Setting) -> str:
        """The place that the value in force comes from, in words."""
        found, file = self._find(setting), self._config.path.name
        match found.source:
            case SettingSource.OVERRIDE:
                return "from the command line, which beats the file"
            case SettingSource.CONVERSATION:
                return "by this conversation alone"
            case SettingSource.PAIR:
                return f"for this pair, line {found.line} of {file}"
            case SettingSource.FILE:
                return f"line {found.line} of {file}"
        return found.origin

    def editable(self, setting: Setting) -> str:
        """The text of the field when the reader begins to change it."""
        value = self._in_scope(setting)
        return "" if value is None else typed(value)

    def steps(self, setting: Setting) -> tuple[Value, ...]:
        """The values to step through, if they are few; empty if they are many."""
        match setting.kind:
            case Flag():
                return (True, False)
            case Choice() as choice:
                return choice.all_words
            case Names() as names:
                return (AUTO, "off", *names.known)
        if setting.key == "persona":
            return (NONE, *PERSONAS.names())
        return ()

    def stepped(self, setting: Setting, step: int) -> Value:
        """The value ``step`` places after the one in the scope; at first one that is not the built-in value."""
        values = self.steps(setting)
        value = self._in_scope(setting)
        if value not in values:
            start = next((each for each in values if setting.default.startswith(short(each))), values[-1])
            value = start
        return values[(values.index(value) + step) % len(values)]

    @property
    def empty(self) -> str:
        """A sentence for an empty list; empty if it is not."""
        if self.marked_id:
            return ""
        return f"No setting has {self.text!r} in its name or description; Backspace widens the filter."

    def refusal(self, setting: Setting) -> UsageError | None:
        """The error for a setting that nothing in the scope can have of its own; None if it can be changed there."""
        if self.scope is Layer.PAIR and (self._settings.pair_id is None or not setting.per_pair):
            return UsageError(f"{capitalised(setting.title)} is the same for all pairs.", "Change the scope.")
        if self.scope is Layer.CONVERSATION and (self._in_use is None or not setting.per_conversation):
            return UsageError(f"{capitalised(setting.title)} is the same for all conversations.", "Change the scope.")
        return None

    def set(self, setting: Setting, value: Value | None) -> Config:
        """Set a value in the scope, or take it out for None. Raises LocalSpecError, such as ``refusal``."""
        if (refusal := self.refusal(setting)) is not None:
            raise refusal
        if self.scope is Layer.CONVERSATION:
            assert self._in_use is not None
            self._in_use.give(setting, value)
        else:
            pair = self._settings.pair_id if self.scope is Layer.PAIR else None
            self._config = write_value(setting, value, pair)
        return self._config

    def reread(self) -> bool:
        """Read the file again if it has changed on disk, and return True if it had."""
        changed = self._config.changed_on_disk
        if changed:
            self._config = read_config()
        return changed

    def describe_change(self, setting: Setting, load_key: str) -> str:
        """A sentence about the change that was made; ``load_key`` is the key that loads the pair again."""
        value = self._in_scope(setting)
        what = f"{setting.title}: {short(value) if value is not None else _UNSET[self.scope]}"
        where = _WHERE[self.scope]
        source = self._find(setting).source
        if source is SettingSource.OVERRIDE:
            return f"{what} {where}; the command line beats it."
        layer = _LAYERS.get(source)
        if layer in _ABOVE[self.scope]:
            return f"{what} {where}; {layer} has its own."
        if layer is None and value is not None:
            return f"{what} {where}; another setting takes its place."
        if self.needs_load(setting):
            return f"{what}. {load_key} loads the pair again with it."
        return f"{what}; applies {setting.applies}."

    def needs_load(self, setting: Setting) -> bool:
        """True if a change takes effect only when the pair is loaded again."""
        return setting.applies is Applies.RELOAD

    @property
    def marked_id(self) -> str | None:
        """The marked row if it is listed, else the first whose name contains the filter, else the first."""
        ids = [] if self.text else [f"problem-{n}" for n in range(len(self.problems))]
        ids += [each.name for *_, settings in self._sections() for each in settings if self._passes(each)]
        if self._marked in ids:
            return self._marked
        called = (each for each in ids if self.text and self.text.lower().replace(" ", "_") in each)
        return next(called, ids[0] if ids else None)

    def _passes(self, setting: Setting) -> bool:
        words = self.text.lower().split()
        if not words:
            return True
        also = " ".join(setting.also)
        searched = f"{setting.name} {setting.title} {also} {setting.description} {self.source(setting)}".lower()
        if any(setting.name in values for values in (self._config.values, self.of_pair, self.own)):
            searched += " set"
        return all(word in searched for word in words)

    @property
    def _settings(self) -> Settings:
        return self._in_use.settings if self._in_use is not None else self._given

    def _find(self, setting: Setting) -> EffectiveSetting:
        """The setting as it counts, found anew if anything it follows from has changed."""
        settings = self._settings
        basis = (settings.pair_id, self._config, dict(self.own))
        if self._effective is None or self._effective[0] != basis:
            self._effective = basis, effective_settings(settings, self._config, self.own)
        return self._effective[1][setting.name]

    def _in_scope(self, setting: Setting) -> Value | None:
        """The value in the scope, which a change replaces; None if it is not set there."""
        return self._of(self.scope).get(setting.name)

    def _of(self, layer: Layer) -> Mapping[str, Value]:
        return {Layer.CONVERSATION: self.own, Layer.PAIR: self.of_pair, Layer.ALL: self._config.values}[layer]

    def _beneath(self, setting: Setting) -> str:
        """The values that the file has besides the one in force, in a few words."""
        source = self._find(setting).source
        below = {Layer.PAIR: "for this pair", Layer.ALL: "for all"}
        return "".join(
            f"{words} {short(self._of(layer)[setting.name])}; "
            for layer, words in below.items()
            if layer is not _LAYERS.get(source) and setting.name in self._of(layer)
        )

    def _parts(self, setting: Setting, width: int) -> tuple[Part, ...]:
        found = self._find(setting)
        wide = width >= _ABOUT_FROM
        room = _VALUE_CELLS if wide else max(8, width - _NAME_CELLS - 4)
        value = shortened(_value(found), room)
        mark = _MARKS.get(found.source, " ")
        look = STRONG if found.source in _MARKS else QUIET
        parts: tuple[Part, ...] = ((f"{mark} {setting.title:<{_NAME_CELLS}}", TEXT), (value, look))
        if wide:
            left = width - _NAME_CELLS - room - 4
            parts += ((" " * (room - len(value) + 2), QUIET), (shortened(setting.description, left), QUIET))
        return parts

    def _suggestions(self, setting: Setting) -> str:
        if setting.key != "persona":
            return ""
        there = PERSONAS.names()
        return f" ({', '.join(there)})" if there else f"; the name of a text file in {PERSONAS.path}"


def _value(found: EffectiveSetting) -> str:
    """The value in force, in the width of a column."""
    match found.source:
        case SettingSource.PRESET:
            return f"{in_words(found)}, by the preset"
        case SettingSource.RECOMMENDED:
            return f"{in_words(found)}, the pair's own"
    return in_words(found)


def _describe(problem: Problem) -> str:
    """A sentence about a problem, without the folder of the file."""
    where = f"Line {problem.line} of {problem.path.name}" if problem.line else problem.path.name
    return f"{where} is left out: {problem.what}{'' if problem.what.endswith('?') else '.'}"


def _problem_parts(problem: Problem, width: int) -> tuple[Part, ...]:
    where = f"  line {problem.line}: " if problem.line else "  "
    return ((where, QUIET), (shortened(problem.what, width - len(where)), WARNING))
