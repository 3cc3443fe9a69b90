"""The app over a file of settings and a command line."""

from __future__ import annotations

from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from localspec.chat.commands.command import Command
from localspec.chat.settings.controller import ScreenFrontEnd, SettingsController
from localspec.cli.options import overrides
from localspec.cli.run import run
from localspec.config import read_config
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.resolver import SettingsResolver
from localspec.tui.screens.settings import SettingsScreen
from localspec.tui.widgets.row_list import RowList
from tests.config.support import configure
from tests.tui.support import Clock, FakeEngine, make_app, wait_until


def chat_config(text: str | None = None, *arguments: str) -> ChatConfig:
    """What this file and this command line make."""
    if text is not None:
        configure(text)
    with run.make_context("localspec run", [*arguments, "hello"]) as context:
        return SettingsResolver(overrides(context)).resolve(read_config())


def answer(command: Command, controller: SettingsController, argument: str = "") -> str:
    """What the chat screen says to a command that is the same in every front end. Raises what it is refused with."""
    said: list[str] = []
    assert command.handler is not None
    front_end = ScreenFrontEnd(
        controller, said.append, lambda *form: None, said.append, lambda message: said.append(message.result())
    )
    command.handler(front_end, argument)
    return said[-1]


def settings_app(engine: FakeEngine, text: str | None = None, *arguments: str) -> Any:
    return make_app(engine, chat_config(text, *arguments), Clock())


def screen(pilot: Pilot[Any]) -> SettingsScreen:
    assert isinstance(pilot.app.screen, SettingsScreen)
    return pilot.app.screen


async def open_settings(pilot: Pilot[Any], filtered: str = "") -> None:
    """Open the screen, and type into its filter."""
    await pilot.press("f9")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen) and rows(pilot))
    screen(pilot).query_one("#settings-filter", Input).value = filtered
    await pilot.pause()


def rows(pilot: Pilot[Any]) -> list[str]:
    """The list as it is drawn."""
    return [str(option.prompt) for option in screen(pilot).query_one(RowList).options]


def said(pilot: Pilot[Any]) -> str:
    return str(screen(pilot).query_one("#settings-message").render())


def details(pilot: Pilot[Any]) -> str:
    return str(screen(pilot).query_one("#settings-details").render())
