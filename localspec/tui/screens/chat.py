"""The chat screen: passes what the reader does to the session, and what the session says to widgets.

One timer draws, and only while there is something to draw: it takes what the engine has said since the
last frame, so that the work of the screen does not grow with the engine's speed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from localspec.compose.message import Written
from localspec.errors import LocalSpecError
from localspec.store import Hit, StoredConversation
from localspec.tui.actions import command_parts, find_command, is_command, no_such_command
from localspec.tui.changes import Began, Change, Counted, Ended, LoadFailed, PairReady, Wrote
from localspec.tui.editing_desk import EditingDesk
from localspec.tui.exchange import Exchange
from localspec.tui.history import History
from localspec.tui.inbox import Inbox
from localspec.tui.keys import screen_bindings
from localspec.tui.news import NewsLine
from localspec.tui.pairs.desk import PairDesk
from localspec.tui.palette import Palette
from localspec.tui.preferences import Preferences
from localspec.tui.reading_desk import ReadingDesk
from localspec.tui.screens.help import HelpScreen
from localspec.tui.screens.links import LinksScreen
from localspec.tui.screens.search import SearchScreen
from localspec.tui.session import Session
from localspec.tui.settings_desk import SettingsDesk
from localspec.tui.status import live_state, pace_note, pause_note
from localspec.tui.summary_desk import SummaryDesk
from localspec.tui.title import TerminalTitle, terminal_write
from localspec.tui.tour import QUESTION
from localspec.tui.truth import Ghosts
from localspec.tui.truth_desk import TruthDesk
from localspec.tui.turn_desk import TurnDesk
from localspec.tui.turn_notes import context_note, copied_note, storage_note
from localspec.tui.widgets.hints import Hints
from localspec.tui.widgets.live_line import LiveLine
from localspec.tui.widgets.notice import Notice
from localspec.tui.widgets.prompt import Prompt
from localspec.tui.widgets.sidebar import Sidebar
from localspec.tui.widgets.token_view import TokenView
from localspec.tui.widgets.tour_line import TourLine
from localspec.tui.widgets.transcript import Transcript
from localspec.tui.widgets.welcome import Welcome

if TYPE_CHECKING:
    from textual.widgets import Markdown

FRAME_S = 1 / 10
FRAMES_PER_FIGURES = 3
"""Figures are drawn at every third frame: faster, nobody could read them."""
GHOST_S = 0.3


class EngineSpoke(Message):
    """Answers have arrived while nobody was looking."""


class ChatScreen(Screen[None]):
    """Conversation, prompt and live line in one calm column."""

    BINDINGS: ClassVar[list[BindingType]] = screen_bindings()
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - Textual declares it so
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - Textual declares it so
    DEFAULT_CSS = """
    ChatScreen { background: $background; color: $foreground; }
    ChatScreen Transcript { height: 1fr; }
    ChatScreen.-narrow { layers: default over; }
    ChatScreen.-narrow Sidebar { layer: over; }
    ChatScreen Page, ChatScreen Welcome, ChatScreen .load-error { width: 100%; max-width: 92; }
    ChatScreen #foot { height: auto; align-horizontal: center; padding: 0 1 0 0; }
    ChatScreen Notice, ChatScreen Prompt, ChatScreen LiveLine, ChatScreen Hints { width: 100%; max-width: 92; }
    ChatScreen LiveLine { padding: 0 2; }
    ChatScreen .load-error { color: $error; padding: 0 2; margin: 1 0 0 0; height: auto; }
    ChatScreen.-short #counts { display: none; }
    ChatScreen.-short Welcome { padding: 0 2; }
    ChatScreen.-short Welcome.-offering #pair { display: none; }
    ChatScreen.-short #legend { display: none; }
    ChatScreen.-tall LiveLine { margin: 1 0; }
    """

    def __init__(
        self,
        session: Session,
        desk: PairDesk,
        settings: SettingsDesk,
        inbox: Inbox,
        palette: Callable[[], Palette],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._session = session
        self._desk = desk
        self._settings = settings
        self._inbox = inbox
        self._palette = palette
        self._clock = clock
        self._notice = Notice()
        self._prompt = Prompt("Ask anything", ask=session.count_tokens, withdraw=self._withdraw)
        self._turns = TurnDesk(session, palette, self._say)
        self._editing = EditingDesk(session, self._turns, self._prompt)
        self._reading = ReadingDesk(session, self._turns)
        self._summaries = SummaryDesk(self._turns)
        self._transcript = self._turns.transcript
        self._live = LiveLine(palette)
        self._hints = Hints()
        self._tour = TourLine()
        self._truth = TruthDesk(session, self._transcript, palette, self._wake)
        self._waiting: dict[Exchange, Written] = {}
        """Messages not yet answered, as they were written."""
        self._preferences = Preferences()
        self._said = ""
        self._news = NewsLine(session.witness)
        self._ghosts_until: float | None = None
        self._frame_n = 0

    def compose(self) -> ComposeResult:
        with self._transcript:
            yield self._welcome()
        with Vertical(id="foot"):
            yield self._tour
            yield self._notice
            yield self._prompt
            yield self._live
            yield self._hints

    def on_mount(self) -> None:
        self._timer = self.set_interval(FRAME_S, self._frame, pause=True)
        self._title = TerminalTitle(terminal_write(self.app, os.environ))
        self._prompt.area.focus()
        self._inbox.listen(partial(self.post_message, EngineSpoke()))
        self.prefer(self._settings.preferences)
        self._say(self._session.store.notice or self._settings.news)
        if (conversation := self._session.launch.conversation) is not None:
            self.run_worker(self._begin_with(conversation))
        self._wake()

    def on_unmount(self) -> None:
        self._title.end()

    # What the reader does

    async def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        if is_command(event.text):
            await self._command(event.text)
            return
        if self._editing.under_way:
            await self._editing.submit(event.written.content)
            self._wake()
            return
        self._news.read()
        self._say("")
        self.did("prompt.send")
        await self._transcript.query(Welcome).remove()
        exchange = self._session.ask(event.written.content)
        exchange.shown = event.written.shown
        self._waiting[exchange] = event.written
        await self._transcript.add_turn(exchange)
        if self._session.current is not None and exchange in self._session.waiting:
            self._say("Waits for the reply; Up takes it back.")
        self._wake()

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        if self._said and event.text and event.by_hand:
            self._say("")

    def on_prompt_said(self, event: Prompt.Said) -> None:
        self._say(event.text)

    def on_prompt_weighed(self, event: Prompt.Weighed) -> None:
        self._hints.weigh(event.text)

    def on_welcome_picked(self, event: Welcome.Picked) -> None:
        self._prompt.set_text(event.text)

    def on_transcript_let_go(self, event: Transcript.LetGo) -> None:
        self._turns.let_go(event.exchange)

    def on_transcript_followed(self, event: Transcript.Followed) -> None:
        self._notice.cue("" if event.following else "↓ new")

    async def _command(self, text: str) -> None:
        action = find_command(text)
        if action is None:
            self._say(no_such_command(text))
        elif argument := command_parts(text)[1]:
            where, _, what = action.handler.partition(".")
            await self.app.run_action((where, what, (argument,)), self)
        else:
            await self.app.run_action(action.handler, default_namespace=self)

    def _withdraw(self) -> Written | None:
        """Take back the last message that waits."""
        exchange = self._session.withdraw()
        if exchange is None:
            return None
        self.run_worker(self._turns.withdraw([exchange]))
        return self._waiting.pop(exchange, Written(exchange.prompt))

    # Actions, as named in ``tui.actions``

    async def action_stop(self) -> None:
        if self._editing.leave():
            return
        if self._transcript.selected is not None:
            self._choose(0)
            return
        if self._session.free and self._tour.tour.leave():
            self._tour.draw()
            return
        withdrawn = self._session.stop()
        await self._turns.withdraw(withdrawn)
        self._give_back(withdrawn)
        self._wake()

    def _give_back(self, withdrawn: list[Exchange]) -> None:
        """Put messages that waited into the prompt."""
        written = [self._waiting.pop(exchange) for exchange in withdrawn if exchange in self._waiting]
        if written:
            self._prompt.put_back(written)
            self._say("The messages that waited are back in the prompt.")

    def action_toggle_view(self) -> None:
        self.say(self._truth.toggle_view())

    def action_next_mode(self) -> None:
        self.say(self._truth.next_mode())

    def action_next_ghosts(self) -> None:
        self.say(self._truth.next_ghosts())

    def action_inspect(self) -> None:
        self.say(self._truth.inspect())

    def action_race(self, text: str = "") -> None:
        self.say(self._truth.race(text))

    def action_tour(self) -> None:
        begins = self._tour.tour.step is None
        self.say(self._tour.tour.go_on() or ("Esc leaves the tour." if begins else ""))
        self._tour.draw()
        if begins and not self._prompt.area.text:
            self._prompt.set_text(QUESTION)

    def did(self, handler: str, *, opened: bool = False) -> None:
        """The reader has done this; the tour may go on. As ``Tour.did``."""
        if self._tour.tour.step is not None:
            if end := self._tour.tour.did(handler, opened=opened):
                self._say(end)
            self._tour.draw()

    def on_token_view_picked(self, event: TokenView.Picked) -> None:
        self.say(self._truth.inspect(event.view, event.token))

    def on_transcript_shown(self) -> None:
        self._truth.weigh()
        self._wake()

    def action_select(self, step: int) -> None:
        self._choose(step)

    async def action_conversations(self) -> None:
        if self.query(Sidebar):
            self.on_sidebar_closed()
        else:
            stored = self._session.talk.stored
            await self.mount(Sidebar(History(self._session.store), stored.id))

    async def on_sidebar_chosen(self, event: Sidebar.Chosen) -> None:
        await self.query(Sidebar).remove()
        await self._go_to(event.conversation)

    async def on_sidebar_deleted(self, event: Sidebar.Deleted) -> None:
        if event.conversation == self._session.talk.stored.id:
            await self.action_new_conversation()
            self.query_one(Sidebar).query_one("Input").focus()

    def on_sidebar_closed(self) -> None:
        self.query(Sidebar).remove()
        self._prompt.area.focus()

    def action_search(self) -> None:
        self.app.push_screen(SearchScreen(self._session.store), self._found)

    async def _found(self, hit: Hit | None) -> None:
        if hit is not None:
            await self.query(Sidebar).remove()
            await self._go_to(hit.conversation, hit.message)

    async def _go_to(self, conversation: str, message: str | None = None) -> None:
        try:
            await self._turn_to(self._session.store.open_conversation(conversation), message)
            self._settings.turn_to(begun=False)
        except LocalSpecError as error:
            self._say(str(error))

    async def _begin_with(self, conversation: str) -> None:
        await self._go_to(conversation)
        self._settings.use_system_said()

    def action_rename(self, title: str = "") -> None:
        self.say(self._reading.rename(title))

    def action_export(self) -> None:
        self.say(self._reading.export(Path.cwd()))

    async def action_turn(self, what: str, *values: int) -> None:
        done = getattr(self._editing, what)(*values)
        if isawaitable(done):
            await done
        if self._transcript.selected is None:
            self._choose(0)
        self._hints.choose(self._transcript.selected is not None and not self._editing.under_way)
        self._wake()

    async def action_compact(self, kept: str = "") -> None:
        await self._summaries.begin(kept)
        self._choose(0)
        self._wake()

    async def action_block(self, step: int) -> None:
        if await self._reading.go_to_block(step):
            self._hints.choose(True)
            self.set_focus(None)
        self._wake()

    def action_links(self, first: str = "") -> None:
        if links := self._reading.links():
            self.app.push_screen(LinksScreen(links, first), lambda said: self.say(said or ""))

    def on_markdown_link_clicked(self, event: Markdown.LinkClicked) -> None:
        event.stop()
        self._turns.choose_around(event.markdown)
        self._hints.choose(True)
        self.action_links(event.href)

    def action_unfold(self) -> None:
        self._reading.unfold()
        self._wake()

    def action_copy(self, what: str) -> None:
        text: str = getattr(self._reading, what)()
        if text:
            self.app.copy_to_clipboard(text)
            self._say(copied_note(text, code=what == "code"))

    def _choose(self, step: int) -> None:
        """Choose another turn, whose keys then count; with no step, none."""
        self._reading.leave_block()
        turn = self._transcript.select(step) if step else None
        if turn is None:
            self._transcript.unselect()
        self._hints.choose(turn is not None)
        if turn is not None:
            self.set_focus(None)
        else:
            self._prompt.area.focus()

    def action_toggle_pace(self) -> None:
        pacer = self._session.pacer
        if pacer.tokens_per_second is None:
            self._say("This pair is shown at full speed anyway.")
            return
        pacer.full_speed = not pacer.full_speed
        pace = "full speed" if pacer.full_speed else f"{pacer.tokens_per_second:.0f} tokens/s"
        self._say(f"Replies are shown at {pace}; the figures are the engine's own.")

    async def action_new_conversation(self) -> None:
        await self._turn_to(self._session.store.begin(self._session.launch.system))
        self._settings.turn_to(begun=True)

    async def _turn_to(self, conversation: StoredConversation, message: str | None = None) -> None:
        """Show another conversation, and a message in it."""
        self._editing.leave()
        self._say("")
        self._prompt.open(conversation.id if conversation.path else "")
        self._give_back(await self._turns.turn_to(conversation, message))
        if not self._session.talk.exchanges:
            await self._transcript.add(self._welcome())
        self._choose(0) if message is None else self.set_focus(None)
        self._wake()

    async def action_prompt(self, what: str) -> None:
        getattr(self._prompt, what)()

    def action_attach(self, path: str = "") -> None:
        self._prompt.begin_attaching(path)

    def action_page(self, direction: int) -> None:
        self._transcript.page(direction)

    def action_latest(self) -> None:
        self._transcript.follow()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self._palette(), self._preferences.keymap))

    def action_read(self) -> None:
        self.set_focus(None)

    def action_write(self) -> None:
        self._prompt.area.focus()

    def prefer(self, preferences: Preferences) -> None:
        """Look and move as the settings say from now on; what was switched by key and is not set anew stays."""
        before, self._preferences = self._preferences, preferences
        self._hints.use(preferences.keymap)
        self._tour.use(preferences.keymap)
        self._prompt.set_calm(preferences.reduced_motion)
        if preferences.mode != before.mode:
            self._transcript.unselect()
            self._transcript.show(preferences.showing(self._transcript.showing))
        if preferences.ghosts != before.ghosts:
            self._transcript.show_ghosts(preferences.ghosts)

    # What the engine says

    def ring(self) -> None:
        """Callable from any thread: there is something new to show."""
        with suppress(RuntimeError):  # the app has ended meanwhile
            self.post_message(EngineSpoke())

    def on_engine_spoke(self) -> None:
        self._wake()

    def _wake(self) -> None:
        """Draw now, and go on drawing for as long as there is something to draw."""
        self._timer.resume()
        self._prompt.set_calm(True)
        self._frame_n = -1
        self._frame()

    def _frame(self) -> None:
        for answer in self._inbox.take():
            self._session.receive(answer)
        changes = self._session.advance()
        for change in changes:
            self._show(change)
            self._truth.follow(change)
        self._fade_ghosts()
        self._frame_n += 1
        done = not self._session.busy and self._ghosts_until is None
        if done or self._frame_n % FRAMES_PER_FIGURES == 0:
            self._live.show(live_state(self._session, self._transcript.showing.mode))
            self._notice.say(self._note)
            self._notice.measure(context_note(self._session))
            self._name_terminal()
        if done:
            self._timer.pause()
            self._prompt.set_calm(self._preferences.reduced_motion)
            self._inbox.sleep()

    def _show(self, change: Change) -> None:
        match change:
            case Began(exchange):
                self._waiting.pop(exchange, None)
                self._turns.begin(exchange)
            case Wrote(exchange, rounds, rejected):
                brief = self._transcript.ghosts is Ghosts.BRIEF and self.app.animation_level != "none"
                ghosts = rejected if brief else ()
                if (view := self._transcript.view(exchange)) is not None:
                    view.reply.write(rounds, ghosts)
                self._ghosts_until = self._clock() + GHOST_S if ghosts else None
            case Ended(exchange) if exchange.is_summary:
                self._ghosts_until = None
                self.run_worker(self._summaries.end(exchange))
            case Ended(exchange):
                self._ghosts_until = None
                self._settings.adopt_promoted()
                self._turns.close(exchange)
                self._prompt.weigh()
            case Counted(token_n):
                self._prompt.counted(token_n)
            case LoadFailed(error):
                self._prompt.fit(None)
                self._said = ""
                self.complain(error, self._desk.way_back())
                self._desk.begin()
            case PairReady(info):
                self._prompt.fit(info.n_ctx)
                self._show_load_error(None)
                self._settings.pace()
                self._say(self._desk.ready() or self._said)
                self._desk.begin()

    def _name_terminal(self) -> None:
        if not self._preferences.terminal_title:
            self._title.end()
            return
        stored = self._session.talk.stored
        self._title.show(stored.title if stored.path else "")

    def _fade_ghosts(self) -> None:
        if self._ghosts_until is not None and self._clock() >= self._ghosts_until:
            self._ghosts_until = None
            current = self._session.current
            if current is not None and (view := self._transcript.view(current)) is not None:
                view.reply.tokens.fade()

    def _show_load_error(self, text: Content | None) -> None:
        """Put a failed load's sentence below the conversation, or take it away once it is mended."""
        self._transcript.query(".load-error").remove()
        if text is not None:
            self.run_worker(self._show_at_end(Static(text, classes="load-error")))

    async def _show_at_end(self, widget: Static) -> None:
        await self._transcript.add(widget)
        self.call_after_refresh(self._transcript.scroll_end, animate=False)

    # What there is about pairs

    def show_pairs(self) -> None:
        """Something about pairs has changed: what the first page offers, and the quiet line."""
        for welcome in self.query(Welcome):
            welcome.tell(self._session.launch, self._desk.welcome())
        self._notice.say(self._note)

    def complain(self, error: LocalSpecError, advice: str = "") -> None:
        """Say below the conversation what went wrong with a pair, until one is loaded."""
        self._show_load_error(Content.assemble(error.message, " ", (f"{error.hint} {advice}".strip(), "$foreground")))

    def say(self, text: str) -> None:
        """Say it quietly, until the reader types."""
        self._say(text)
        self._wake()

    def _welcome(self) -> Welcome:
        return Welcome(self._session.launch, self._palette, self._desk.welcome())

    @property
    def _note(self) -> str:
        """What the quiet line says: what was just done first, then what goes on by itself."""
        said = self._said or storage_note(self._session) or self._news.note
        return said or pace_note(self._session) or pause_note(self._session) or self._desk.news()

    def _say(self, text: str) -> None:
        self._said = text
        self._notice.say(self._note)
