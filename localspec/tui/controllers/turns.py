"""The turns on screen: their widgets, the chosen one, and the notes on each."""

from __future__ import annotations

from collections.abc import Callable

from textual.widget import Widget

from localspec.chat.commands.keymap import Keymap
from localspec.chat.session import ChatSession
from localspec.chat.status import closing_note
from localspec.chat.turn import Turn
from localspec.store import StoredConversation
from localspec.tui.conversation.summary_view import SummaryView
from localspec.tui.conversation.transcript import Transcript
from localspec.tui.conversation.turn_notes import turn_note, version_note
from localspec.tui.conversation.turn_view import TurnView
from localspec.tui.tokens.palette import Palette
from localspec.tui.widgets.welcome import Welcome

NOTHING_SAID = "Nothing has been said yet."
_BUSY = "A reply is under way; {stop} stops it, then this is possible."


class TurnController:
    """Draws the turns of the session, for the controllers of editing, reading and summaries too."""

    def __init__(self, session: ChatSession, palette: Callable[[], Palette], say: Callable[[str], None]) -> None:
        self.session = session
        self.transcript = Transcript(self._make, self._let_go)
        self.say = say
        self.keymap = Keymap({})
        """The keys that notices name."""
        self._palette = palette

    @property
    def chosen(self) -> Turn | None:
        """The turn that commands are about: the chosen one, or else the last."""
        if self.transcript.selected is not None:
            return self.transcript.selected.turn
        said = self.session.thread.turns
        return said[-1] if said else None

    @property
    def busy(self) -> str:
        """The notice that something is not possible during a reply."""
        return self.keymap.worded(_BUSY)

    # Drawing

    async def show(self) -> None:
        """Draw the conversation as it is now, with the messages that wait."""
        waiting = [turn for turn in self.session.waiting if turn.question is None]
        turns = [*self.session.thread.turns, *waiting]
        if turns:
            await self.transcript.query(Welcome).remove()
        await self.transcript.sync(turns)
        self.label()

    async def turn_to(self, conversation: StoredConversation, message: str | None = None) -> list[Turn]:
        """Open another conversation, at a message; returns the turns that waited in the one before."""
        withdrawn = self.session.turn_to(conversation)
        if message is not None:
            self.session.thread.show(message)
        await self.transcript.pages.clear()
        await self.show()
        turn = self.session.thread.holding(message) if message else None
        if turn is not None:
            await self.transcript.reveal(turn)
        return withdrawn

    def choose_around(self, widget: Widget) -> None:
        """Choose the turn that a widget is part of."""
        for view in widget.ancestors:
            if isinstance(view, TurnView):
                self.transcript.choose(view)

    def label(self) -> None:
        """Draw the version and the note of every turn on screen."""
        for view in self.transcript.pages.views:
            self._label(view)

    def begin(self, turn: Turn) -> None:
        """Draw the turn as one that is being answered."""
        view = self.transcript.pages.view(turn)
        if view is not None:
            view.begin()
            self._label(view)

    def end(self, turn: Turn) -> None:
        """Draw the turn as one that is answered, or whose reply failed."""
        view = self.transcript.pages.view(turn)
        if view is not None:
            view.reply.finish()
            self._label(view)
            if turn.reply.error is not None:
                view.fail(turn.reply.error)
            self.transcript.finish(view)

    async def withdraw(self, turns: list[Turn]) -> None:
        """Draw turns whose messages no longer wait; those that were never stored are removed."""
        for turn in turns:
            if turn.question is None and turn.answer is None:
                await self.transcript.pages.discard(turn)
                continue
            if turn.continued:
                turn.unload()
            await self.transcript.pages.remake(turn)

    def _let_go(self, turn: Turn) -> None:
        """Forget the tokens of a turn that is far away; they can be read again."""
        if turn not in (self.session.last, self.session.current):
            self.session.thread.unload(turn)

    def _make(self, turn: Turn) -> TurnView:
        self.session.thread.load(turn)
        if turn.is_summary:
            return self._make_summary(turn)
        view = TurnView(turn, self._palette, queued=turn in self.session.waiting)
        if turn is not self.session.current and turn not in self.session.waiting:
            if turn.answer is not None:
                view.reply.finish()
            self._label(view)
            if turn.reply.error is not None:
                view.fail(turn.reply.error)
        return view

    def _make_summary(self, turn: Turn) -> TurnView:
        view = SummaryView(turn, self._palette)
        if turn is not self.session.current:
            view.reply.finish()
            view.note.say(closing_note(turn.reply))
        return view

    def _label(self, view: TurnView) -> None:
        turn = view.turn
        if (turn.question is None and turn.answer is None) or turn.is_summary:
            return
        if turn not in self.session.thread.turns:
            return  # of the conversation before, on screen until the next one is drawn
        question, replies = self.session.thread.versions(turn)
        view.draw_question(version_note(question))
        under_way = turn is self.session.current or turn in self.session.waiting
        view.set_class(not under_way and not turn.said, "-silent")
        view.note.say("" if under_way else turn_note(turn, replies))
