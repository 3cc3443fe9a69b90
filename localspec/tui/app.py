"""The chat app: themes, the palette of commands, other screens, and the lifetime of the engine."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from typing import ClassVar, Protocol, runtime_checkable

from textual.app import App, SystemCommand
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.command import CommandPalette
from textual.constants import TEXTUAL_ANIMATIONS
from textual.driver import Driver
from textual.events import Event, InputEvent, Key, MouseDown, MouseScrollDown, MouseScrollUp, Paste
from textual.message import Message
from textual.screen import Screen
from textual.widget import MountError
from textual.worker import WorkerFailed

from localspec.base import gc_scheduler
from localspec.base.errors import LocalSpecError
from localspec.base.paths import user_paths
from localspec.base.signals import discard_terminal_output, ending_signals
from localspec.base.visible import capitalised, visible_line
from localspec.chat.answer_queue import AnswerQueue
from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.moving import HELP, PALETTE, QUIT
from localspec.chat.commands.setup import ACCEPT, PAIRS, SETTINGS, STATS, THEME
from localspec.chat.pacing import Pacer
from localspec.chat.pair_slot import EngineHandle
from localspec.chat.pairs.library import PairLibrary
from localspec.chat.pairs.offer import OfferKind
from localspec.chat.pairs.source import LocalPairs
from localspec.chat.session import ChatSession
from localspec.chat.settings.controller import SettingsController
from localspec.config import Config
from localspec.config.table import THEMES
from localspec.insight.observers.observers import Observers
from localspec.runtime.cache_notices import KEEPING_BEHIND, tell, told_if_long
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.worker.messages import Answer, Load
from localspec.store import Store
from localspec.tui.controllers.pairs import PairController
from localspec.tui.keys.bindings import app_bindings, textual_keymap
from localspec.tui.keys.handling import CommandDone, CommandTarget, handles
from localspec.tui.screens.chat import ChatScreen
from localspec.tui.screens.commands import ActionCommands, CommandSearch, ThemeChoices
from localspec.tui.screens.settings import SettingsScreen
from localspec.tui.terminal.clipboard import Copier
from localspec.tui.textual_fixes import caches
from localspec.tui.textual_fixes.joiner_widths import measure_joiners
from localspec.tui.textual_fixes.typed_joiners import take_joiners
from localspec.tui.textual_fixes.visible_text import make_text_visible
from localspec.tui.theme import OWN_THEMES, made_theme, quiet_colour, theme_for
from localspec.tui.tokens.palette import Palettes


class Client(EngineHandle, Protocol):
    """The engine's client as the app needs it."""

    def start(self) -> None: ...

    def close(self) -> None: ...


ClientFactory = Callable[[Callable[[Answer], None]], Client]

PAIRS_REDRAW_S = 0.2
"""The shortest time between two drawings of the pairs; a download reports more often."""


@runtime_checkable
class ShowsPairs(Protocol):
    """A screen that shows pairs."""

    def show_pairs(self) -> None: ...


class PairsChanged(Message):
    """Something about pairs has changed."""


def run_app(chat_config: ChatConfig, make_client: ClientFactory | None = None) -> None:
    """Chat until the user quits. The engine is started before the terminal is taken, and ended after.

    ``chat_config`` was made from settings.

    Raises whatever the screen failed with, once the terminal is given back, and SystemExit after SIGTERM or SIGHUP.
    """
    assert chat_config.settings is not None
    observers = Observers()
    observers.use(chat_config)
    inbox = AnswerQueue()
    library = PairLibrary(LocalPairs(chat_config.settings))
    client = (make_client or _engine_client)(inbox.put)
    client.start()
    client.send(Load(chat_config.load))
    store = Store.open_or_memory()
    observers.watch(store)
    new = _new_here(store)
    app = ChatApp(chat_config, client, inbox, library, store=store, observers=observers, tends_heap=True, new_here=new)
    try:
        app.run()
    finally:
        observers.close()
        store.close()
        left = library.downloads.pending
        library.close()
        if left:
            more = f" {len(left) - 1} more wait in the queue." if len(left) > 1 else ""
            tell(visible_line(f"{left[0].stopped_notice}{more}"))
        with told_if_long(KEEPING_BEHIND) if app.session.chat_config.load.keep_caches else nullcontext():
            client.close()
    if app.failure is not None:
        raise app.failure
    if app.return_code:
        raise SystemExit(app.return_code)


def _new_here(store: Store) -> bool:
    """True if the store has no conversation; False if it cannot be read."""
    try:
        return not store.short_ids()
    except LocalSpecError:
        return False


def _engine_client(deliver: Callable[[Answer], None]) -> Client:
    from localspec.runtime.worker.client import EngineClient

    return EngineClient(deliver, user_paths().engine_log)


class ChatApp(App[None], CommandTarget, inherit_bindings=False):
    """The app: one chat screen over one engine."""

    TITLE = "LocalSpec"
    COMMANDS = {ActionCommands}  # noqa: RUF012 - Textual declares it so
    BINDINGS: ClassVar[list[BindingType]] = app_bindings()

    def __init__(
        self,
        chat_config: ChatConfig,
        engine: EngineHandle,
        inbox: AnswerQueue,
        library: PairLibrary,
        clock: Callable[[], float] = time.monotonic,
        store: Store | None = None,
        observers: Observers | None = None,
        *,
        tends_heap: bool = False,
        new_here: bool = False,
    ) -> None:
        """Without a store, conversations end with the app. ``tends_heap`` is for the one app of a process, which
        handles its signals and garbage collection.

        ``new_here`` is True in the first conversation of a user.
        """
        make_text_visible()
        take_joiners()
        measure_joiners()
        super().__init__()
        self._tending = gc_scheduler.GcScheduler(clock) if tends_heap else None
        self.failure: Exception | None = None
        """The exception that ended the app, if one did."""
        self.copier = Copier(self)
        self._observers = observers or Observers()
        self.session = ChatSession(
            chat_config, engine, Pacer(chat_config.pace_tokens_per_second, clock), store, self._observers
        )
        self._library = library
        self._controller = PairController(self._library, self.session)
        self._inbox = inbox
        self._clock = clock
        self._new_here = new_here
        self._palette = Palettes(self)
        self._settings = SettingsController(self.session)
        self._controller.keymap = self._settings.preferences.keymap
        self._no_theme: LocalSpecError | None = None
        """Why the theme of the settings is not shown."""
        for theme in OWN_THEMES:
            self.register_theme(theme)
        self._look()

    def get_driver_class(self) -> type[Driver]:
        usual = super().get_driver_class()
        if os.name != "posix":
            return usual
        from localspec.tui.textual_fixes.driver import driver_for

        return driver_for(usual)

    def _handle_exception(self, error: Exception) -> None:
        """As Textual's, which ends the app, except for widgets that are mounted while it is ending.

        From then on Textual mounts nothing, and raises this error.
        """
        reason = error.error if isinstance(error, WorkerFailed) else error
        if self._exit and isinstance(reason, MountError):
            return
        self.failure = self.failure or error
        super()._handle_exception(error)

    def _print_error_renderables(self) -> None:
        """Nothing, with people's texts in it, on the terminal: ``failure`` is reported by who ran the app."""
        self._exit_renderables.clear()

    def get_default_screen(self) -> Screen[None]:
        self._chat = ChatScreen(
            self.session, self._controller, self._settings, self._inbox, self._palette, self._clock, self._new_here
        )
        return self._chat

    def pop_screen(self) -> AwaitComplete:
        """As Textual's, but the chat stays when a second quick key reaches a screen that is gone already."""
        return super().pop_screen() if len(self.screen_stack) > 1 else AwaitComplete()

    def copy_to_clipboard(self, text: str) -> None:
        """As Textual's, and to a program of this machine as well: all that is copied on any screen comes by here.

        Nothing at all, as where a field without a selection is asked to cut it, leaves the clipboard as it is.
        """
        if text:
            super().copy_to_clipboard(text)
            self.copier.give(text)

    def on_mount(self) -> None:
        self._library.change_signal.listen(lambda: self.post_message(PairsChanged()))
        self._observers.listen(self._chat.ring)
        self.app_resume_signal.subscribe(self, lambda app: self.refresh(layout=True))
        if self._no_theme is not None:
            self.call_after_refresh(self._chat.say, str(self._no_theme))
        self._settings.pace()
        self.set_keymap(textual_keymap(self._settings.preferences.keymap))
        if self._tending:
            self.call_after_refresh(gc_scheduler.freeze_heap)
            self.set_interval(gc_scheduler.CHECK_S, partial(self._tend, self._tending))
            for number in ending_signals():
                asyncio.get_running_loop().add_signal_handler(number, self._end_by, number)

    def _end_by(self, number: int) -> None:
        """Quit with the exit code of the signal."""
        if number != signal.SIGTERM:
            discard_terminal_output()
        if not self._exit:  # the first says why
            self.exit(return_code=128 + number)

    def _tend(self, tending: gc_scheduler.GcScheduler) -> None:
        if tending.due(busy=self.session.current is not None):
            caches.clear_caches(self.screen_stack)
            gc_scheduler.give_back()

    async def on_event(self, event: Event) -> None:
        """As Textual's; all input passes here."""
        if self._tending and isinstance(event, InputEvent | Paste):
            self._tending.used()
        if isinstance(event, Key | Paste | MouseDown | MouseScrollDown | MouseScrollUp) and not event.is_forwarded:
            self._chat.make_room(event)
        if not self._swallowed(event):
            await super().on_event(event)

    def _swallowed(self, event: Event) -> bool:
        """True if a key or a paste that no widget has had yet is to do nothing."""
        if not isinstance(event, Key | Paste) or event.is_forwarded or self.screen is not self._chat:
            return False
        return self._chat.swallows(event)

    def get_css_variables(self) -> dict[str, str]:
        """As Textual's, with quiet scroll bars where the colours are not the terminal's own sixteen."""
        variables = super().get_css_variables()
        if self.current_theme.ansi:
            return variables
        ground = variables["background"]
        bars = {"": variables["panel"], "-hover": variables["quiet"], "-active": variables["accent"]}
        grounds = dict.fromkeys(("-background", "-background-hover", "-background-active", "-corner-color"), ground)
        return variables | {f"scrollbar{part}": colour for part, colour in (bars | grounds).items()}

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The secondary colour, for themes that do not define one."""
        return {"quiet": quiet_colour(self.current_theme)}

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The chat's commands; above another screen those that the app handles itself."""
        for command in CHAT.commands:
            if command.in_palette and (screen is self._chat or command.id in self.handlers):
                run = partial(self._chat.run_command, command)
                key = self._settings.preferences.keymap.label(command)
                yield SystemCommand(capitalised(command.title), f"{key}  {command.help}" if key else command.help, run)

    @handles(PALETTE)
    def action_command_palette(self) -> None:
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(CommandSearch())  # without the usual id: the one before may still be on its way out

    def on_command_done(self, event: CommandDone) -> None:
        """The tour hears of every command here, but for those of the prompt, where Enter may have sent nothing."""
        if not event.command.in_prompt and self.screen_stack:
            self._chat.did(event.command, opened=self.screen is not self._chat)

    @handles(HELP)
    def show_help(self) -> None:
        from localspec.tui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self._palette(), self._settings.preferences.keymap))

    @handles(QUIT)
    async def quit(self) -> None:
        if question := self._controller.parting_question():
            while self.screen is not self._chat:
                await self.pop_screen()
            self._chat.say(question)
            return
        await self.action_quit()

    # Settings

    @handles(SETTINGS)
    def show_settings(self, words: str = "") -> None:
        browser = self._settings.open()
        browser.text = words
        self.push_screen(SettingsScreen(browser, self._change_settings, self._load_again))

    @handles(THEME)
    def choose_theme(self, name: str = "") -> None:
        if not name:
            self.push_screen(CommandSearch(providers=[ThemeChoices], placeholder="Search for themes…"))
            return
        try:
            if name.lower() in self.theme_choices:  # a file that is none is not chosen
                made_theme(name.lower(), user_paths().config / THEMES)
            self._change_settings(self._settings.choose_theme(name))
        except LocalSpecError as error:
            self._chat.refuse(error)
        else:
            self._chat.say(f"The theme is {name.lower()} from now on.")

    @property
    def theme_choices(self) -> tuple[str, ...]:
        return self._settings.themes

    def _change_settings(self, config: Config) -> None:
        """Put changed settings into force. Raises LocalSpecError."""
        theme = self._settings.preferences.theme
        self._settings.apply(config)
        self._look(recolour=self._settings.preferences.theme != theme)
        self._prefer()
        if (settings := self.session.chat_config.settings) is not None:
            self._observers.use(settings.resolve(config), strict=True)

    def _load_again(self) -> str:
        try:
            return self._controller.use(self._settings.to_load())
        except LocalSpecError as error:
            return str(error)

    def _look(self, *, recolour: bool = True) -> None:
        """Apply the settings of colours and motion."""
        preferences = self._settings.preferences
        if recolour:
            try:
                theme = made_theme(preferences.theme, user_paths().config / THEMES)
            except LocalSpecError as error:
                theme, self._no_theme = None, error
            themes = {preferences.theme: theme} if theme else {}
            if theme:
                self.register_theme(theme)
            self._palette.forget()
            self.theme = theme_for(preferences.theme, os.environ, self.console.color_system, themes)
        self.animation_level = "none" if preferences.reduced_motion else TEXTUAL_ANIMATIONS

    def _prefer(self) -> None:
        """Apply the key map and the other settings of the screen."""
        preferences = self._settings.preferences
        self.set_keymap(textual_keymap(preferences.keymap))
        self._controller.keymap = preferences.keymap
        self._chat.prefer(preferences)

    @handles(STATS)
    def show_stats(self) -> None:
        from localspec.chat.stats.browser import StatsBrowser
        from localspec.insight.stats.objectives import objectives_of
        from localspec.tui.screens.stats import StatsScreen

        self.push_screen(StatsScreen(StatsBrowser(self.session.store, objectives_of(self._settings.config))))

    # Pairs

    @handles(PAIRS)
    def choose_pair(self, named: str = "") -> None:
        if named:
            self.run_worker(self._choose_pair(named), group="pair", exclusive=True)
        else:
            self._list_pairs()

    def _list_pairs(self, text: str = "") -> None:
        from localspec.tui.screens.pairs import PairsScreen

        self.push_screen(PairsScreen(self._controller, self._controller.open(text)), self._use)

    async def _choose_pair(self, named: str) -> None:
        """Go on with the pair of this id if it is here; else list those that are called so, to choose from."""
        try:
            pairs = await asyncio.to_thread(self._library.world.listed)
        except LocalSpecError as error:
            self._chat.complain(error)
            return
        pair = next((pair for pair in pairs if pair.id == named.lower()), None)
        if pair is None or not pair.available:
            self._list_pairs(named)
        elif self._controller.is_in_use(pair.id):
            self._chat.say(f"You are talking to {pair.title} already.")
        else:
            await self._change_pair(pair.id)

    @handles(ACCEPT)
    def accept_offer(self) -> None:
        match self._controller.offer:
            case None:
                self._chat.say(self._controller.nothing_offered())
            case offer if offer.kind is OfferKind.RETURN:
                self._chat.say(self._controller.go_back())
            case offer if offer.kind is OfferKind.FETCH and offer.pair_id:
                if question := self._controller.download_question(offer):
                    self._chat.say(question)
                else:
                    self._library.fetch(offer.pair_id)
            case offer:
                self._use(offer.pair_id)

    def on_pairs_changed(self) -> None:
        self._library.take()
        for screen in self.screen_stack:
            if isinstance(screen, ShowsPairs):
                screen.show_pairs()
        self.set_timer(PAIRS_REDRAW_S, self._library.change_signal.arm)

    def _use(self, pair_id: str | None) -> None:
        """Change to this pair, once its files are found; None changes nothing."""
        if pair_id is not None:
            self.run_worker(self._change_pair(pair_id), group="pair", exclusive=True)

    async def _change_pair(self, pair_id: str) -> None:
        try:
            chat_config = await asyncio.to_thread(self._library.world.chat_config, pair_id)
        except LocalSpecError as error:
            self._chat.complain(error)
            return
        self._chat.say(self._controller.use(self._settings.for_conversation(chat_config)))
        self._chat.show_pairs()
