"""The settings beside an open conversation, and the session they are applied to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress

from localspec.base.errors import LocalSpecError
from localspec.chat.session import ChatSession
from localspec.chat.settings.browser import SettingsBrowser
from localspec.chat.settings.conversation import Changed, change
from localspec.chat.settings.preferences import Preferences, preferences
from localspec.chat.tools.use import ToolUse
from localspec.config import Config, Setting, Value, read_config, setting
from localspec.config.file import write_value
from localspec.config.kinds import Choice
from localspec.config.lookup import read_typed
from localspec.runtime.chat_config import ChatConfig, Settings
from localspec.store import StoredConversation

_PAIR = "model.pair"
_THEME = setting("theme")


class SettingsController:
    """Applies changed settings: at once where nothing has to be loaded. Belongs to the screen's thread."""

    def __init__(self, session: ChatSession) -> None:
        """The configuration of the session was made from settings."""
        assert session.chat_config.settings is not None
        self._session = session
        self._settings: Settings = session.chat_config.settings
        self._pair = self._settings.config.values.get(_PAIR)
        self._in_force: Mapping[str, Value] = {}
        """The settings of a conversation that the session has now."""
        self.preferences: Preferences = preferences(self._settings.config)
        """The settings of the screen."""
        session.writes_titles = self.preferences.model_titles

    @property
    def config(self) -> Config:
        return self._settings.config

    @property
    def tool_use(self) -> ToolUse:
        return self._session.tool_use

    @property
    def news(self) -> str:
        """A sentence for the start about settings of the file that are left out; empty if none is."""
        count = len(self._settings.problems) + len(self.preferences.keymap.problems)
        if not count:
            return ""
        left_out = "One setting is left out" if count == 1 else f"{count} settings are left out"
        return f"{left_out} of {self.config.path.name}; /settings says why."

    @property
    def settings(self) -> Settings:
        """The settings for the pair in use."""
        return self._session.chat_config.in_use or self._settings

    @property
    def own(self) -> Mapping[str, Value]:
        return self.stored.settings

    @property
    def stored(self) -> StoredConversation:
        return self._session.stored

    def open(self) -> SettingsBrowser:
        """The list of settings for the settings screen."""
        return SettingsBrowser(self._settings, self)

    def apply(self, config: Config) -> None:
        """Apply every setting that needs no loading. Raises LocalSpecError."""
        self.preferences = preferences(config)
        self._session.writes_titles = self.preferences.model_titles
        self._settings.resolve(config)
        self._adopt(self.settings.resolve(config, self.own))
        self.pace()

    def adopt_promoted(self) -> None:
        """Apply the settings that a trial has written, if one has."""
        if self._session.trials.wrote_settings():
            # Mistakes in the command line were reported when the app opened.
            with suppress(LocalSpecError):
                self.apply(read_config())

    def pace(self) -> None:
        """Pass the pace that is set for the pair in use to the session."""
        pacer = self._session.pacer
        pacer.tokens_per_second = self.preferences.pace_for(self._session.chat_config.pace_tokens_per_second)

    def to_load(self) -> ChatConfig:
        """The configuration to load for the settings as they are now. Raises LocalSpecError."""
        named = self.config.values.get(_PAIR)
        changed, self._pair = named != self._pair, named
        settings = self._settings if changed else self.settings
        return settings.resolve(self.config, self.own)

    def for_conversation(self, chat_config: ChatConfig) -> ChatConfig:
        """A configuration, with the settings of the open conversation besides. Raises LocalSpecError."""
        self._in_force = self.own
        return chat_config.settings.resolve(self.config, self.own) if self.own and chat_config.settings else chat_config

    # Settings of the open conversation

    def turn_to(self, *, begun: bool) -> None:
        """Apply the settings of a conversation just opened; unless ``begun`` now, its system prompt stays.

        Raises LocalSpecError.
        """
        if self.own != self._in_force:
            self._adopt(self.settings.resolve(self.config, self.own), keep_system=not begun)

    def use_overridden_system(self) -> None:
        """Give the open conversation the system prompt or persona that the command line names, if it names one."""
        if {"system", "persona"} & set(self.settings.overrides):
            self.stored.set_system(self._session.chat_config.system)

    def adopt(self, changed: Changed) -> None:
        """Store what the conversation sets now, and reply by it from now on."""
        self.stored.set_settings(changed.own)
        self._adopt(changed.chat_config)

    def give(self, setting: Setting, value: Value | None) -> None:
        """Set something for this conversation, or leave it to the file for None. Raises LocalSpecError."""
        self.adopt(change(self.settings, self.own, setting, value))

    @property
    def themes(self) -> tuple[str, ...]:
        """The names of the themes to choose from."""
        assert isinstance(_THEME.kind, Choice)
        return _THEME.kind.all_words

    def choose_theme(self, name: str) -> Config:
        """Write the theme into the file. Raises LocalSpecError."""
        return write_value(_THEME, read_typed(_THEME, name.lower()))

    def _adopt(self, chat_config: ChatConfig, *, keep_system: bool = False) -> None:
        self._in_force = self.own
        if chat_config.pair_id == self._session.chat_config.pair_id:
            self._session.adopt(chat_config, keep_system=keep_system)


class ScreenFrontEnd:
    """The chat screen as the commands of every front end see it."""

    def __init__(
        self,
        controller: SettingsController,
        say: Callable[[str], None],
        ask: Callable[[str, str, Mapping[str, str], Callable[[Mapping[str, str]], None]], None],
        put: Callable[[str], None],
        put_later: Callable[[Future[str]], None],
    ) -> None:
        """``say`` does what ``answer`` of ``FrontEnd`` does, the others what theirs do."""
        self._controller = controller
        self._say = say
        self.tool_use, self.adopt = controller.tool_use, controller.adopt
        self.ask, self.put, self.put_later = ask, put, put_later

    @property
    def settings(self) -> Settings:
        return self._controller.settings

    @property
    def stored(self) -> StoredConversation:
        return self._controller.stored

    def answer(self, text: str, **data: object) -> None:
        self._say(text)
