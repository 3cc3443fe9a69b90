"""The settings beside a conversation: what of a change can be in force at once is."""

from __future__ import annotations

from collections.abc import Mapping

from localspec.config import Config, Value, config_file
from localspec.config.personas import NONE, check_persona, list_personas, personas_folder
from localspec.launch import Launch, Settings
from localspec.tui.preferences import Preferences, preferences
from localspec.tui.session import Session
from localspec.tui.settings_browser import SettingsBrowser, SettingsFile

_PAIR, _PERSONA = "model.pair", "reply.persona"


class NoSettings:
    """Stands where a launch was made of nothing: the file has the screen's settings alone."""

    said: Mapping[str, str] = {}
    problems = ()

    def __init__(self, launch: Launch) -> None:
        self.config = Config(config_file())
        self._launch = launch

    def for_pair(self, pair_id: str) -> NoSettings:
        return self

    def settle(self, config: Config, conversation: Mapping[str, Value] | None = None) -> Launch:
        self.config = config
        return self._launch


class SettingsDesk:
    """Belongs to the screen's thread."""

    def __init__(self, session: Session, file: SettingsFile | None = None) -> None:
        self._session = session
        self._file = file or SettingsFile()
        self._settings: Settings = session.launch.settings or NoSettings(session.launch)
        self._pair = self._settings.config.values.get(_PAIR)
        self._conversation: dict[str, Value] = {}
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

    def open(self) -> SettingsBrowser:
        """The list, for somebody who wants to look at it."""
        return SettingsBrowser(self._settings, self._file)

    def apply(self, config: Config) -> None:
        """Put into force what needs no loading. Raises LocalSpecError."""
        self.preferences = preferences(config)
        now = self._session.launch
        launch = (now.settings or self._settings).settle(config, self._conversation)
        if now.settings is not self._settings:
            self._settings.settle(config)
        if launch.pair_id == now.pair_id:
            self._session.adopt(launch)
        self.pace()

    def pace(self) -> None:
        """Show replies at the pace that is set, for the pair in use."""
        pacer = self._session.pacer
        pacer.tokens_per_second = self.preferences.pace_for(self._session.launch.pace_tokens_per_second)

    def to_load(self) -> Launch:
        """What to load for the settings as they are now. Raises LocalSpecError."""
        named = self.config.values.get(_PAIR)
        changed, self._pair = named != self._pair, named
        settings = self._settings if changed else self._session.launch.settings or self._settings
        return settings.settle(self.config, self._conversation)

    def choose_persona(self, name: str) -> str:
        """Speak as this persona in this conversation, or as none; what to say about it. Raises LocalSpecError."""
        check_persona(name, self.config.path.parent)
        self._conversation = {_PERSONA: name}
        self.apply(self.config)
        if "system" in self._settings.said:
            return "The command line names a system prompt, which beats a persona."
        return "No persona from the next reply on." if name == NONE else f"{name} speaks from the next reply on."

    def personas(self) -> str:
        """Which personas there are."""
        there = list_personas(self.config.path.parent)
        if not there:
            return f"There are no personas; put text files into {personas_folder()}."
        return f"Personas: {', '.join(there)}; /persona NAME chooses one, /persona none ends it."

    def begin_anew(self) -> None:
        """Forget what the conversation had of its own. Raises LocalSpecError."""
        if self._conversation:
            self._conversation = {}
            self.apply(self.config)
