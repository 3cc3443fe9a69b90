"""The chat screen: passes what the reader does to the session, and what the session says to widgets.

One timer draws, and only while there is something to draw: it takes what the engine has said since the
last frame, so that the work of the screen does not grow with the engine's speed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from localspec.launch import Launch
from localspec.tui.actions import find_command, is_command
from localspec.tui.inbox import Inbox
from localspec.tui.keys import screen_bindings
from localspec.tui.palette import Palette
from localspec.tui.screens.help import HelpScreen
from localspec.tui.session import Began, Change, Ended, Exchange, LoadFailed, PairReady, Session, Wrote
from localspec.tui.status import closing_note, live_state, opening_note, pace_note
from localspec.tui.widgets.hints import Hints
from localspec.tui.widgets.live_line import LiveLine
from localspec.tui.widgets.notice import Notice
from localspec.tui.widgets.prompt import Prompt
from localspec.tui.widgets.transcript import Transcript
from localspec.tui.widgets.turn import TurnView
from localspec.tui.widgets.welcome import Welcome

FRAME_S = 1 / 10
FRAMES_PER_FIGURES = 3
"""Figures are drawn at every third frame: faster, nobody could read them."""
GHOST_S = 0.3


class EngineSpoke(Message):
    """Answers have arrived while nobody was looking."""


class ChatScreen(Screen[None]):
    """Conversation, prompt and live line in one calm column."""

    BINDINGS: ClassVar[list[BindingType]] = screen_bindings()
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - Textual declares it so
    DEFAULT_CSS = """
    ChatScreen { background: $background; color: $foreground; }
    ChatScreen Transcript { height: 1fr; }
    ChatScreen Page, ChatScreen Welcome, ChatScreen .load-error { width: 100%; max-width: 92; }
    ChatScreen #foot { height: auto; align-horizontal: center; padding: 0 1 0 0; }
    ChatScreen Notice, ChatScreen Prompt, ChatScreen LiveLine, ChatScreen Hints { width: 100%; max-width: 92; }
    ChatScreen LiveLine { padding: 0 2; }
    ChatScreen .load-error { color: $error; padding: 0 2; margin: 1 0 0 0; height: auto; }
    ChatScreen.-short #counts { display: none; }
    ChatScreen.-short Welcome { padding: 0 2; }
    ChatScreen.-short #legend { display: none; }
    ChatScreen.-tall LiveLine { margin: 1 0; }
    """

    def __init__(
        self,
        launch: Launch,
        session: Session,
        inbox: Inbox,
        palette: Callable[[], Palette],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._launch = launch
        self._session = session
        self._inbox = inbox
        self._palette = palette
        self._clock = clock
        self._transcript = Transcript()
        self._notice = Notice()
        self._prompt = Prompt("Ask anything")
        self._live = LiveLine(palette)
        self._hints = Hints()
        self._views: dict[Exchange, TurnView] = {}
        self._said = ""
        self._ghosts_until: float | None = None
        self._frame_n = 0

    def compose(self) -> ComposeResult:
        with self._transcript:
            yield Welcome(self._launch, self._palette)
        with Vertical(id="foot"):
            yield self._notice
            yield self._prompt
            yield self._live
            yield self._hints

    def on_mount(self) -> None:
        self._timer = self.set_interval(FRAME_S, self._frame, pause=True)
        self._prompt.area.focus()
        self._inbox.listen(partial(self.post_message, EngineSpoke()))
        self._wake()

    # What the reader does

    async def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        self._prompt.set_text("")
        if is_command(event.text):
            await self._command(event.text)
            return
        self._say("")
        await self._transcript.query(Welcome).remove()
        view = TurnView(event.text.strip(), self._palette)
        await self._transcript.add_turn(view)
        self._views[self._session.ask(event.text.strip())] = view
        self._wake()

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        self._hints.typed(event.text)
        if self._said and event.text:
            self._say("")

    def on_welcome_picked(self, event: Welcome.Picked) -> None:
        self._prompt.set_text(event.text)

    def on_transcript_followed(self, event: Transcript.Followed) -> None:
        self._notice.cue("" if event.following else "↓ new")

    async def _command(self, text: str) -> None:
        action = find_command(text)
        if action is None:
            self._say(f"There is no command {text.strip()}. Type /help for those there are.")
        else:
            await self.app.run_action(action.handler, default_namespace=self)

    # Actions, as named in ``tui.actions``

    async def action_stop(self) -> None:
        withdrawn = self._session.stop()
        for exchange in withdrawn:
            await self._views.pop(exchange).remove()
        if withdrawn:
            texts = [exchange.prompt for exchange in withdrawn] + [self._prompt.text]
            self._prompt.set_text("\n".join(text for text in texts if text))
            self._say("The messages that waited are back in the prompt.")
        self._wake()

    def action_toggle_view(self) -> None:
        self._transcript.toggle_view()
        self._say("Replies are shown as Markdown." if self._transcript.markdown else "Replies are shown as tokens.")

    def action_toggle_pace(self) -> None:
        pacer = self._session.pacer
        if pacer.tokens_per_second is None:
            self._say("This pair is shown at full speed anyway.")
            return
        pacer.full_speed = not pacer.full_speed
        pace = "full speed" if pacer.full_speed else f"{pacer.tokens_per_second:.0f} tokens/s"
        self._say(f"Replies are shown at {pace}; the figures are the engine's own.")

    async def action_new_conversation(self) -> None:
        self._session.begin_anew()
        self._views.clear()
        self._say("")
        await self._transcript.clear()
        await self._transcript.add(Welcome(self._launch, self._palette))
        self._wake()

    def action_page(self, direction: int) -> None:
        self._transcript.page(direction)

    def action_latest(self) -> None:
        self._transcript.follow()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self._palette()))

    # What the engine says

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
        self._fade_ghosts()
        self._frame_n += 1
        done = not self._session.busy and self._ghosts_until is None
        if done or self._frame_n % FRAMES_PER_FIGURES == 0:
            self._live.show(live_state(self._session))
            self._notice.say(self._said or pace_note(self._session))
        if done:
            self._timer.pause()
            self._prompt.set_calm(False)
            self._inbox.sleep()

    def _show(self, change: Change) -> None:
        match change:
            case Began(exchange):
                self._views[exchange].begin()
            case Wrote(exchange, tokens, rejected):
                ghosts = rejected if self.app.animation_level != "none" else ()
                self._views[exchange].reply.write(tokens, ghosts)
                self._ghosts_until = self._clock() + GHOST_S if ghosts else None
            case Ended(exchange):
                self._close(exchange)
            case LoadFailed(error):
                self._show_load_error(Content.assemble(error.message, " ", (error.hint, "$foreground")))
            case PairReady():
                self._show_load_error(None)

    def _close(self, exchange: Exchange) -> None:
        """The reply is over: its last look, and what there is to say about it."""
        view, reply = self._views[exchange], exchange.reply
        self._ghosts_until = None
        view.reply.finish()
        view.note("\n".join(filter(None, (opening_note(reply), closing_note(reply)))))
        if reply.error is not None:
            view.fail(reply.error)
        self._transcript.settle(view)

    def _fade_ghosts(self) -> None:
        if self._ghosts_until is not None and self._clock() >= self._ghosts_until:
            self._ghosts_until = None
            if self._session.current is not None:
                self._views[self._session.current].reply.tokens.fade()

    def _show_load_error(self, text: Content | None) -> None:
        """Put a failed load's sentence below the conversation, or take it away once it is mended."""
        self._transcript.query(".load-error").remove()
        if text is not None:
            self.run_worker(self._transcript.add(Static(text, classes="load-error")))

    def _say(self, text: str) -> None:
        self._said = text
        self._notice.say(text)
