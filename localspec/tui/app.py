"""The chat app: wiring only. Themes, the palette of commands, and the engine's lifetime around the screen's."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

from textual.app import App, SystemCommand
from textual.color import Color
from textual.screen import Screen

from localspec.launch import Launch
from localspec.tui.actions import ACTIONS
from localspec.tui.inbox import Inbox
from localspec.tui.pacing import Pacer
from localspec.tui.palette import Palette, palette_for
from localspec.tui.screens.chat import ChatScreen
from localspec.tui.session import Engine, Session
from localspec.tui.theme import DARK, LIGHT, preferred_theme, quiet_colour
from localspec.worker.messages import Answer, Load, Request


class Client(Protocol):
    """The engine's client as the app needs it."""

    def start(self) -> None: ...

    def send(self, request: Request) -> None: ...

    def close(self) -> None: ...


ClientFactory = Callable[[Callable[[Answer], None]], Client]


def run_app(launch: Launch, make_client: ClientFactory | None = None) -> None:
    """Chat until the reader quits. The engine is started before the terminal is taken, and ended after."""
    inbox = Inbox()
    client = (make_client or _engine_client)(inbox.put)
    client.start()
    client.send(Load(launch.load))
    try:
        ChatApp(launch, client, inbox).run()
    finally:
        client.close()


def _engine_client(deliver: Callable[[Answer], None]) -> Client:
    from localspec.paths import user_paths
    from localspec.worker.client import EngineClient

    return EngineClient(deliver, user_paths().engine_log)


class ChatApp(App[None]):
    """One chat screen over one engine."""

    TITLE = "LocalSpec"

    def __init__(
        self, launch: Launch, engine: Engine, inbox: Inbox, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self.session = Session(launch, engine, Pacer(launch.pace_tokens_per_second, clock))
        self._launch = launch
        self._inbox = inbox
        self._clock = clock
        self._palettes: dict[str, Palette] = {}
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = preferred_theme(os.environ)

    def get_default_screen(self) -> Screen[None]:
        return ChatScreen(self._launch, self.session, self._inbox, self._palette, self._clock)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Themes that are not ours have no colour for what is secondary."""
        return {"quiet": quiet_colour(self.current_theme)}

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action of the table, and the choice of a theme."""
        for action in ACTIONS:
            if action.in_palette:
                run = partial(self.run_action, action.handler)
                yield SystemCommand(action.title.capitalize(), action.help, run)
        yield SystemCommand("Theme", "Choose the colours of the app.", self.action_change_theme)

    def _palette(self) -> Palette:
        """The palette of the theme in force; asked for at every line drawn, so it is made once a theme."""
        if self.theme not in self._palettes:
            theme = self.current_theme
            background = Color.parse(self.theme_variables["background"])
            self._palettes[self.theme] = palette_for(
                background, dark=theme.dark, ansi=theme.ansi, no_color=self.no_color
            )
        return self._palettes[self.theme]
