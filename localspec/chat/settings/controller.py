"""The settings beside a conversation: what of a change can be in force at once is."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from localspec.base.errors import LocalSpecError
from localspec.chat.session import ChatSession
from localspec.chat.settings.browser import SettingsBrowser, SettingsFile
from localspec.chat.settings.conversation import Changed, change, schema_from, set_from, told, unset_from
from localspec.chat.settings.preferences import Preferences, preferences
from localspec.config import Config, Setting, Value, config_file, read_config, setting
from localspec.config.own import read_own
from localspec.config.personas import NONE, check_persona, list_personas, no_personas
from localspec.runtime.chat_config import ChatConfig, Layer, Settings

_PAIR = "model.pair"
_PERSONA = setting("persona")
_THEME = setting("theme")


class NoSettings:
    """Stands where a launch was made of nothing: the file has the screen's settings alone."""

    overrides: Mapping[str, str] = {}
    problems = ()
    pair_id = None

    def __init__(self, chat_config: ChatConfig) -> None:
        self.config = Config(config_file())
        self._chat_config = chat_config

    def layers(self, config: Config, conversation: Mapping[str, Value]) -> Mapping[str, Layer]:
        return dict.fromkeys(config.values, Layer.ALL) | dict.fromkeys(conversation, Layer.CONVERSATION)

    def for_pair(self, pair_id: str) -> NoSettings:
        return self

    def resolve(self, config: Config, conversation: Mapping[str, Value] | None = None) -> ChatConfig:
        self.config = config
        return self._chat_config


class SettingsController:
    """Belongs to the screen's thread."""

    def __init__(self, session: ChatSession, file: SettingsFile | None = None) -> None:
        self._session = session
        self._file = file or SettingsFile()
        self._settings: Settings = session.chat_config.settings or NoSettings(session.chat_config)
        self._pair = self._settings.config.values.get(_PAIR)
        self._in_force: Mapping[str, Value] = {}
        """What the launch in use has from a conversation."""
        self.preferences: Preferences = preferences(self._settings.config)
        """How the screen is to look and move."""

    @property
    def config(self) -> Config:
        return self._settings.config

    @property
    def news(self) -> str:
        """What to say when the app opens: that something in the file is left out; else nothing."""
        count = len(self._settings.problems) + len(self.preferences.keymap.problems)
        if not count:
            return ""
        left_out = "One setting is left out" if count == 1 else f"{count} settings are left out"
        return f"{left_out} of {self.config.path.name}; /settings says why."

    @property
    def settings(self) -> Settings:
        """What is made of the file for the pair in use."""
        return self._session.chat_config.in_use or self._settings

    @property
    def own(self) -> Mapping[str, Value]:
        """What the conversation that is open sets for itself."""
        return self._session.thread.stored.settings

    def open(self) -> SettingsBrowser:
        """The list, for somebody who wants to look at it."""
        return SettingsBrowser(self._settings, self._file, self)

    def apply(self, config: Config) -> None:
        """Put into force what needs no loading. Raises LocalSpecError."""
        self.preferences = preferences(config)
        self._settings.resolve(config)
        self._adopt(self.settings.resolve(config, self.own))
        self.pace()

    def adopt_promoted(self) -> None:
        """Put into force what a trial has written, if one has."""
        if self._session.trials.wrote_settings():
            # What the command line gets wrong was said when the app opened.
            with suppress(LocalSpecError):
                self.apply(read_config())

    def pace(self) -> None:
        """Show replies at the pace that is set, for the pair in use."""
        pacer = self._session.pacer
        pacer.tokens_per_second = self.preferences.pace_for(self._session.chat_config.pace_tokens_per_second)

    def to_load(self) -> ChatConfig:
        """What to load for the settings as they are now. Raises LocalSpecError."""
        named = self.config.values.get(_PAIR)
        changed, self._pair = named != self._pair, named
        settings = self._settings if changed else self.settings
        return settings.resolve(self.config, self.own)

    def for_conversation(self, chat_config: ChatConfig) -> ChatConfig:
        """A launch made for no conversation, with what the one that is open sets. Raises LocalSpecError."""
        self._in_force = self.own
        return chat_config.settings.resolve(self.config, self.own) if self.own and chat_config.settings else chat_config

    # Of the conversation's own

    def turn_to(self, *, begun: bool) -> None:
        """Another conversation is open; if it was not ``begun`` now, its system prompt stays. Raises LocalSpecError."""
        if self.own != self._in_force:
            self._adopt(self.settings.resolve(self.config, self.own), keep_system=not begun)

    def use_system_said(self) -> None:
        """Have the system prompt or persona of the command line, if it names one, hold for what is open."""
        if {"system", "persona"} & set(self.settings.overrides):
            self._session.thread.stored.set_system(self._session.chat_config.system)

    def told(self) -> str:
        """What the conversation sets for itself."""
        return told(self.own)

    def set(self, text: str) -> str:
        """``NAME VALUE`` for this conversation; what to say about it. Raises LocalSpecError."""
        return self._change(set_from(self.settings, self.own, text))

    def unset(self, text: str) -> str:
        """``NAME`` as for all conversations, or ``all``; what to say about it. Raises LocalSpecError."""
        return self._change(unset_from(self.settings, self.own, text))

    def schema(self, text: str) -> str:
        """Hold replies to the JSON Schema in a file, or no more; what to say about it. Raises LocalSpecError."""
        return self._change(schema_from(self.settings, self.own, text))

    def give(self, setting: Setting, value: Value | None) -> None:
        """Set something for this conversation, or leave it to the file for None. Raises LocalSpecError."""
        self._change(change(self.settings, self.own, setting, value))

    def choose_theme(self, name: str) -> Config:
        """Write down that the app has these colours. Raises LocalSpecError."""
        return self._file.write(_THEME, read_own(_THEME, name.lower()), None)

    def choose_persona(self, name: str) -> str:
        """Speak as this persona in this conversation, or as none; what to say about it. Raises LocalSpecError."""
        check_persona(name, self.config.path.parent)
        self.give(_PERSONA, name)
        if "system" in self._settings.overrides:
            return "The command line names a system prompt, which beats a persona."
        return "No persona from the next reply on." if name == NONE else f"{name} speaks from the next reply on."

    def personas(self) -> str:
        """Which personas there are, and which of them this conversation has chosen."""
        there = list_personas(self.config.path.parent)
        if not there:
            return no_personas()
        chosen = self.own.get(_PERSONA.name, NONE)
        speaks = f"{chosen} speaks here; " if chosen != NONE and "system" not in self._settings.overrides else ""
        return f"Personas: {', '.join(there)}; {speaks}/persona NAME chooses one, /persona none ends it."

    def _change(self, changed: Changed) -> str:
        self._session.thread.stored.set_settings(changed.own)
        self._adopt(changed.chat_config)
        return changed.sentence

    def _adopt(self, chat_config: ChatConfig, *, keep_system: bool = False) -> None:
        self._in_force = self.own
        if chat_config.pair_id == self._session.chat_config.pair_id:
            self._session.adopt(chat_config, keep_system=keep_system)
