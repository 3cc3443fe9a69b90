"""The command palette: a search of all commands by title and by other words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, Protocol, runtime_checkable

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.command import CommandInput, CommandList, CommandPalette, DiscoveryHit, Hit, Hits, SearchIcon
from textual.css.query import NoMatches
from textual.errors import NoWidget
from textual.events import Click, Mount
from textual.system_commands import SystemCommandsProvider
from textual.theme import ThemeProvider
from textual.worker import ResultType, Worker, WorkerState, WorkType

from localspec.base.visible import capitalised
from localspec.chat.commands import places
from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.setup import SETTINGS as SETTINGS_COMMAND
from localspec.config import SETTINGS, Setting
from localspec.tui.keys.bindings import bindings_of
from localspec.tui.keys.handling import CommandTarget, handles
from localspec.tui.textual_fixes.option_list import GuardedOptionList

_SHORTEST_QUERY = 3
"""Characters from which settings are found beside commands."""
_OF_SETTINGS = 0.1
"""The score of a setting, below those of commands."""
_LONGEST_QUERY = 200
"""Characters; every one more is another search, and comparing a pasted page with each command takes seconds."""


_WORDS = {
    capitalised(command.title): (*filter(None, [command.slash]), *command.also)
    for command in CHAT.commands
    if command.in_palette
}


@runtime_checkable
class HasThemes(Protocol):
    """An app with themes to choose from."""

    @property
    def theme_choices(self) -> tuple[str, ...]: ...

    def choose_theme(self, name: str) -> None: ...


class ThemeChoices(ThemeProvider):
    """Textual's provider of themes, which here chooses one for good, and has those of the user's own."""

    @property
    def commands(self) -> list[tuple[str, Callable[[], None]]]:
        app = self.app
        assert isinstance(app, HasThemes)
        return [(name, partial(app.choose_theme, name)) for name in app.theme_choices]


class ActionCommands(SystemCommandsProvider):
    """Textual's provider of commands, which here finds a command by its other words too."""

    async def discover(self) -> Hits:
        """All commands, in the order of the help page."""
        for title, about, run, *_ in self.app.get_system_commands(self.screen):
            yield DiscoveryHit(title, run, help=about)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for title, about, run, *_ in self.app.get_system_commands(self.screen):
            by_title = matcher.match(title)
            word = next((word for word in _WORDS[title] if word.startswith(query.lower().strip())), "")
            by_word = matcher.match(word) if word else 0.0
            if by_title and by_title >= by_word:
                yield Hit(by_title, matcher.highlight(title), run, help=about)
            elif by_word:
                yield Hit(by_word, f"{title} ({word})", run, help=about)
        for setting, word in settings_called(query):
            run = partial(ActionCommands._open, self.app, setting.key)
            yield Hit(_OF_SETTINGS, f"Setting: {setting.title}{word}", run, help=setting.description)

    @staticmethod
    async def _open(app: App[object], key: str) -> None:
        assert isinstance(app, CommandTarget)
        await app.run_command(SETTINGS_COMMAND, key)


def settings_called(query: str) -> Iterator[tuple[Setting, str]]:
    """The settings with a word that begins with a query, each with that word in brackets if it is not in its title."""
    wanted = " ".join(query.lower().split())
    for setting in SETTINGS if len(wanted) >= _SHORTEST_QUERY else ():
        if f" {wanted}" in f" {setting.title}":
            yield setting, ""
        elif word := next((each for each in setting.also if each.startswith(wanted)), ""):
            yield setting, f" ({word})"


class CommandRows(CommandList, GuardedOptionList, can_focus=False):
    """The commands that were found."""


class CommandSearch(CommandPalette, CommandTarget):
    """Textual's palette (8.2), except that events during its removal or resizing do not end the app.

    A search begun by the last key then finds no list, and a click may fall where no screen is.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(places.IN_PALETTE.commands)
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - Textual declares it so
    DEFAULT_CSS = """
    CommandSearch > Vertical { width: 90%; max-width: 92; height: 1fr; margin: 2 0; }
    CommandSearch > Vertical:dark { background: $surface; }
    CommandSearch.-short > Vertical { margin: 0; }
    CommandSearch #--input, CommandSearch #--input.--list-visible { height: auto; border: none; padding: 1 2; }
    CommandSearch.-short #--input { padding: 0 2; }
    CommandSearch SearchIcon { color: $accent; margin: 0; }
    CommandSearch CommandInput, CommandSearch CommandInput:focus { height: 1; border: none; padding: 0; }
    CommandSearch #--results { overlay: none; height: 1fr; }
    CommandSearch CommandList {
        max-height: 100%; border: none; scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: ellipsis;
    }
    CommandSearch:ansi > .command-palette--help-text { text-style: not bold; }
    CommandSearch #--input:ansi { outline-left: solid $quiet; outline-right: solid $quiet; }
    CommandSearch CommandList:ansi { outline-left: solid $quiet; }
    """

    def on_mount(self, _: Mount) -> None:
        self.query_one(SearchIcon).icon = "›"
        self.query_one(CommandInput).max_length = _LONGEST_QUERY

    def compose(self) -> ComposeResult:
        for widget in super().compose():
            yield CommandRows() if isinstance(widget, CommandList) else widget

    @handles(places.PALETTE_UP, "command_list('cursor_up')")
    @handles(places.PALETTE_DOWN, "cursor_down")
    @handles(places.PALETTE_PAGE_UP, "command_list('page_up')")
    @handles(places.PALETTE_PAGE_DOWN, "command_list('page_down')")
    @handles(places.PALETTE_FIRST, "command_list('first')")
    @handles(places.PALETTE_LAST, "command_list('last')")
    @handles(places.PALETTE_CLOSE, "escape")
    async def run_textual_action(self, action: str) -> None:
        """The palette's own actions, by Textual's names."""
        await self.run_action(action)

    def on_click(self, event: Click) -> None:
        try:
            self.get_widget_at(event.screen_x, event.screen_y)
        except NoWidget:
            event.prevent_default()

    def run_worker(self, work: WorkType[ResultType], *arguments: Any, **options: Any) -> Worker[ResultType]:
        return super().run_worker(work, *arguments, **{**options, "exit_on_error": False})

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Any other mistake ends the app, as ever."""
        error = event.worker.error
        if event.state is WorkerState.ERROR and error is not None and not isinstance(error, NoMatches):
            raise error
