"""The chat screen: makes the controllers and widgets of a chat, and wires them to each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from inspect import isawaitable
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.events import Event, Key, Paste
from textual.message import Message

from localspec.base.errors import LocalSpecError
from localspec.chat.answer_queue import AnswerQueue
from localspec.chat.commands.command import Command
from localspec.chat.commands.conversations import CONVERSATIONS, IMPORT, SEARCH
from localspec.chat.commands.moving import READ
from localspec.chat.commands.slash import command_parts, find_command, is_command, refusal
from localspec.chat.commands.watching import STOP
from localspec.chat.commands.writing import LATER, SEND
from localspec.chat.compose.completing import argument_values
from localspec.chat.compose.message import WrittenMessage
from localspec.chat.importing import Importing
from localspec.chat.papers.meaning import Meaning
from localspec.chat.pending import PendingMessages
from localspec.chat.session import ChatSession
from localspec.chat.settings.controller import ScreenFrontEnd, SettingsController
from localspec.chat.settings.preferences import Preferences
from localspec.store import Hit
from localspec.tui.controllers.calls import CallController
from localspec.tui.controllers.comparing import ComparisonController
from localspec.tui.controllers.conversations import ConversationController
from localspec.tui.controllers.editing import EditingController
from localspec.tui.controllers.focus import FocusController
from localspec.tui.controllers.marking import MarkingController
from localspec.tui.controllers.pairs import PairController
from localspec.tui.controllers.reading import ReadingController
from localspec.tui.controllers.replies import ReplyController
from localspec.tui.controllers.summaries import SummaryController
from localspec.tui.controllers.turns import TurnController
from localspec.tui.conversation.transcript import Transcript
from localspec.tui.keys.bindings import screen_bindings
from localspec.tui.keys.handling import CommandTarget, Handler, common_handlers, handlers_of, handles
from localspec.tui.prompt.after_pause import AfterPause
from localspec.tui.prompt.prompt import WEIGH_AFTER_S, Prompt
from localspec.tui.screens.search import SearchScreen
from localspec.tui.terminal.title import TerminalTitle, terminal_write
from localspec.tui.textual_fixes.compositor import RowScreen
from localspec.tui.tokens.palette import Palette
from localspec.tui.tokens.token_view import TokenView
from localspec.tui.widgets.foot import Foot
from localspec.tui.widgets.sidebar import Sidebar
from localspec.tui.widgets.welcome import Welcome

if TYPE_CHECKING:
    from textual.widgets import Markdown


class EngineSpoke(Message):
    """The engine has answered, or something else is new to draw."""


class ChatScreen(RowScreen[None], CommandTarget):
    """The chat: conversation, prompt and live line in one column."""

    BINDINGS: ClassVar[list[BindingType]] = screen_bindings()
    AUTO_FOCUS = ""
    """Coming back from another screen restores the focus, a chosen turn included."""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 - Textual declares it so
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-low"), (24, "-tall")]  # noqa: RUF012 - Textual declares it so
    DEFAULT_CSS = """
    ChatScreen.-narrow { layers: default over; }
    ChatScreen.-narrow Sidebar { layer: over; width: 100%; max-width: 100%; }
    ChatScreen.-narrow.-listing Notice { visibility: hidden; }
    ChatScreen Page, ChatScreen Welcome, ChatScreen .load-error { width: 100%; max-width: 92; }
    ChatScreen .load-error { color: $error; padding: 0 2; margin: 1 0 0 0; }
    ChatScreen.-short #counts { display: none; }
    ChatScreen.-short Welcome { padding: 0 2; }
    ChatScreen.-short Welcome.-offering #pair { display: none; }
    ChatScreen.-short #legend, ChatScreen.-low #legend { display: none; }
    ChatScreen.-tall LiveLine { margin: 1 0; }
    """

    def __init__(
        self,
        session: ChatSession,
        controller: PairController,
        settings: SettingsController,
        inbox: AnswerQueue,
        palette: Callable[[], Palette],
        clock: Callable[[], float],
        new_here: bool,
    ) -> None:
        """``new_here`` is True in the first conversation of a user."""
        super().__init__()
        self._session = session
        self._controller = controller
        self._settings = settings
        self._inbox = inbox
        self._palette = palette
        self._preferences = Preferences()
        self._in_progress: WrittenMessage | None = None
        """The written command, with its argument, that is being carried out."""
        self._pause: AfterPause | None = None
        self._meaning = Meaning()
        self._prompt = Prompt(
            "Ask anything",
            ask=session.count_tokens,
            withdraw=self._withdraw,
            waiting=lambda: self._pending.waiting,
            paused=self._read_ahead,
            examples=lambda: [example for welcome in self.query(Welcome) for example in welcome.examples],
            values=partial(argument_values, tools=session.tool_use.toolbox),
            meaning=self._meaning,
            key=session.chat_config.conversation or "",
        )
        self._foot = Foot(session, controller, palette, self._prompt)
        self._notices = self._foot.notices
        self._tour = self._foot.tour
        self._pending = PendingMessages(session)
        self._turns = TurnController(session, palette, self._notices.say)
        self._transcript = self._turns.transcript
        self._editing = EditingController(self._turns, self._prompt)
        self._foot.leads_n = lambda: self._editing.leads_n
        self._reading = ReadingController(self._turns)
        self._importing = Importing(session.store, self.say)
        self._summaries = SummaryController(self._turns)
        self._marking = MarkingController(self._turns, palette, self._wake, self._with_files, new_here)
        self._calls = CallController(settings, self._turns, self._prompt, self._wake)
        self._tour.moved = self._calls.prepare
        self._prompt.attach_from(session.tool_use.attachment, self._calls.resources)
        self._replies = ReplyController(
            inbox,
            self._turns,
            self._marking,
            self._summaries,
            self._prompt,
            self._pending,
            controller,
            settings,
            self._notices,
            self._calls,
            self._draw_figures,
            clock,
        )
        self._focus = FocusController(self._transcript, self._prompt, self._foot.hints, self._reading, self._editing)
        self._comparing = ComparisonController(
            controller, settings, self._turns, self._prompt, palette, self._wake, self._with_files
        )
        self._conversations = ConversationController(
            settings, self._turns, self._prompt, self._focus, self._pending, controller, self._welcome
        )

    def compose(self) -> ComposeResult:
        with self._transcript:
            yield self._welcome()
        yield self._foot

    def on_mount(self) -> None:
        self._title = TerminalTitle(terminal_write(self.app, os.environ))
        self._focus.write()
        self._inbox.listen(partial(self.post_message, EngineSpoke()))
        self.prefer(self._settings.preferences)
        self._notices.say(self._session.store.notice or self._settings.news)
        if (conversation := self._session.chat_config.conversation) is not None:
            self.run_worker(self.carry_out(partial(self._conversations.begin_with, conversation)))
        self._replies.start()
        self._pause = AfterPause(self, WEIGH_AFTER_S, self._session.go_on)

    def on_resize(self) -> None:
        self.call_after_refresh(self._foot.fit)

    def on_unmount(self) -> None:
        self._title.end()
        self._meaning.close()
        self._session.tool_use.close()

    # Input

    def make_room(self, event: Event) -> None:
        """Have the engine rest until the next pause, unless the event is a letter at the end of the message."""
        if self._pause is not None and not self._prompt.grows_by(event):
            self._session.rest()
            self._pause.touch()

    def swallows(self, event: Key | Paste) -> bool:
        """Return True if a key or a paste that no widget has had yet is to do nothing."""
        return self._focus.swallows(event, self._notices.say)

    async def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        if is_command(event.text):
            await self._command(event.written)
            return
        if self._editing.under_way:
            await self._editing.submit(event.written)
            self._wake()
            return
        self._notices.news.read()
        self._notices.say("")
        self.did(SEND)
        await self._transcript.query(Welcome).remove()
        turn = self._pending.ask(event.written)
        await self._transcript.add_turn(turn)
        if not self._pending.waits(turn):
            self._calls.sent()
        self._wake()

    def on_welcome_picked(self, event: Welcome.Picked) -> None:
        self._prompt.set_text(event.text)

    def on_transcript_followed(self, event: Transcript.Followed) -> None:
        self._foot.point(to_newest=not event.following)

    async def _command(self, written: WrittenMessage) -> None:
        text = written.text
        command = find_command(text)
        if command is None or refusal(text):
            self._prompt.put_back([written], refused=True)
            self._notices.say(refusal(text))
        else:
            argument = command_parts(written.unfolded)[1]
            self._in_progress = written if argument else None
            await self.run_command(command, argument)
            self._in_progress = None

    def _with_files(self, message: str) -> str:
        """A message behind the command that is being carried out, with the files that it mentions."""
        return replace(self._in_progress, text=message, pasted={}).content if self._in_progress is not None else message

    def _read_ahead(self, written: WrittenMessage) -> None:
        """Have the engine read what will stand before the reply, as far as that is sure."""
        if self._preferences.reads_ahead:
            self._meaning.want(*written.search)
        if self._preferences.reads_ahead and not self._editing.under_way and not is_command(written.text):
            self._session.read_ahead(written.beginning)

    def _withdraw(self) -> WrittenMessage | None:
        """Take back the last message that waits for its reply."""
        withdrawn = self._pending.withdraw()
        if withdrawn is None:
            return None
        turn, written = withdrawn
        self.run_worker(self._turns.withdraw([turn]))
        return written

    # Commands

    @cached_property
    def handlers(self) -> Mapping[str, Handler]:
        """The handlers of the screen and of its controllers, by the id of the command."""
        turns = {
            name: partial(self._change_turn, each) for name, each in handlers_of(self._editing, self._summaries).items()
        }
        own = handlers_of(
            *(self._marking, self._comparing, self._reading, self._calls, self._focus, self._conversations),
            *(self._transcript, self._prompt, self._tour, self),
        )
        ask = partial(_ask, self.app)
        front_end = ScreenFrontEnd(self._settings, self.say, ask, self._calls.put, self._calls.put_later)
        return common_handlers(front_end) | turns | own

    async def carry_out(self, handler: Handler) -> None:
        """Call it, say what it returns or why it is refused, and draw."""
        try:
            said = handler()
            if isawaitable(said):
                said = await said
        except LocalSpecError as error:
            self.refuse(error)
        else:
            self.say(said) if isinstance(said, str) else self._wake()

    async def _change_turn(self, change: Handler, *argument: str) -> None:
        self._notices.say("")
        done = change(*argument)
        if isawaitable(done):
            await done
        for sidebar in self.query_children(Sidebar):
            sidebar.read_again()  # a conversation may be back
        self._focus.after_change()

    @handles(STOP)
    async def stop_reply(self) -> None:
        if self._focus.leave() or (self._session.free and self._tour.leave()):
            return
        withdrawn = self._session.stop()
        await self._turns.withdraw(withdrawn)
        self._conversations.give_back(withdrawn)

    def did(self, command: Command, *, opened: bool = False) -> None:
        """Tell the tour that the user has run this command, which ``opened`` a screen or not."""
        if end := self._tour.did(command, opened=opened):
            self._notices.say(end)

    def on_token_view_picked(self, event: TokenView.Picked) -> None:
        self.say(self._marking.inspect(event.view, event.token))

    def on_transcript_shown(self) -> None:
        self._marking.weigh()
        self._wake()

    @handles(CONVERSATIONS)
    async def list_conversations(self) -> None:
        if self.query_children(Sidebar):
            self.on_sidebar_closed()
        else:
            await self.mount(Sidebar(self._session.history(), self._conversations.open_id))

    async def on_sidebar_chosen(self, event: Sidebar.Chosen) -> None:
        await self.query_children(Sidebar).remove()
        await self._go_to(event.conversation)

    async def on_sidebar_deleted(self, event: Sidebar.Deleted) -> None:
        if event.conversation == self._conversations.open_id:
            await self._conversations.begin_anew()
            self._wake()
            for field in self.query("Sidebar Input"):  # the list may have been closed meanwhile
                field.focus()

    def on_sidebar_closed(self) -> None:
        self.query_children(Sidebar).remove()
        self._focus.write()

    @handles(SEARCH)
    def search(self, words: str = "") -> None:
        self.app.push_screen(SearchScreen(self._session.store, words), self._found)

    async def _found(self, hit: Hit | None) -> None:
        if hit is not None:
            await self.query_children(Sidebar).remove()
            await self._go_to(hit.conversation, hit.message)

    async def _go_to(self, conversation: str, message: str | None = None) -> None:
        await self._conversations.go_to(conversation, message)
        self._wake()

    @handles(IMPORT)
    def bring_in(self, name: str = "") -> None:
        self.run_worker(self._bring_in(name))

    async def _bring_in(self, name: str) -> None:
        await self._importing.obey(name)
        for sidebar in self.query_children(Sidebar):
            sidebar.read_again()

    def on_markdown_link_clicked(self, event: Markdown.LinkClicked) -> None:
        event.stop()
        self._turns.choose_around(event.markdown)
        self._focus.show_turn_keys()
        self.say(self._reading.list_links(event.href) or "")

    def action_copy_text(self) -> None:
        """Copy the text selected with the mouse, by Textual's own key, Ctrl+C; without one name the keys that end."""
        if text := self.get_selected_text():
            self.run_worker(self._copy_text(text))
        else:
            stops = "" if self._session.free else "{stop} stops the reply; "
            self.say(self._preferences.keymap.worded(f"{stops}{{quit}} quits."))

    async def _copy_text(self, text: str) -> None:
        self.say(await self._reading.copy(text, "text"))

    @handles(READ)
    def read(self) -> str:
        self._focus.read()
        return self._preferences.keymap.worded("{write} goes back to the prompt.")

    def prefer(self, preferences: Preferences) -> None:
        """Apply the settings of the screen; a mode that was switched by key stays unless its setting changed."""
        before, self._preferences = self._preferences, preferences
        self._foot.use(preferences)
        self._turns.keymap = preferences.keymap
        if preferences.mode != before.mode:
            self._transcript.unselect()
            self._transcript.show(preferences.reply_format(self._transcript.reply_format))
        if preferences.ghosts != before.ghosts:
            self._transcript.show_ghosts(preferences.ghosts)

    # Drawing

    def ring(self) -> None:
        """Draw soon: something has changed. Callable from any thread."""
        with suppress(RuntimeError):  # the app has ended meanwhile
            self.post_message(EngineSpoke())

    def on_engine_spoke(self) -> None:
        self._wake()

    def _wake(self) -> None:
        self._replies.wake()

    def _draw_figures(self) -> None:
        """Draw the rows below the conversation, and the conversation's title."""
        self._foot.draw(self._transcript.reply_format.mode)
        self._focus.refresh_keys()
        if self._preferences.terminal_title:
            self._title.show(self._conversations.title)
        else:
            self._title.end()
        for sidebar in self.query_children(Sidebar):
            sidebar.follow_title(self._conversations.title)

    # Notes

    def show_pairs(self) -> None:
        """Draw what depends on pairs: the offer on the first page, and the notice."""
        for welcome in self.query(Welcome):
            welcome.tell(self._session.chat_config, self._controller.welcome())
        self._notices.draw()

    def complain(self, error: LocalSpecError) -> None:
        """Show an error of a pair below the conversation until a pair is loaded."""
        self._replies.complaint.show(error)

    def refuse(self, error: LocalSpecError) -> None:
        """Show why a command cannot be done, and put its text, if it was written, back into the prompt."""
        if self._in_progress is not None:
            self._prompt.put_back([self._in_progress], refused=True)
        self.say(str(error))

    def say(self, text: str) -> None:
        """Show a note in the notice until the user types."""
        self._notices.say(text)
        self._wake()

    def _welcome(self) -> Welcome:
        key = self._controller.keymap.label(LATER)
        return Welcome(self._session.chat_config, self._palette, self._controller.welcome(), key)


def _ask(
    app: App[object], title: str, about: str, fields: Mapping[str, str], then: Callable[[Mapping[str, str]], None]
) -> None:
    """Have the fields written in a form."""
    from localspec.tui.screens.form import FormScreen

    app.push_screen(FormScreen(title, about, fields, then))
