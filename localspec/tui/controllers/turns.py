"""The conversation on screen: which turns are drawn, which one is chosen, and what stands beside and below each."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.widget import Widget

from localspec.chat.changes import Wrote
from localspec.chat.session import ChatSession
from localspec.chat.status import closing_note
from localspec.chat.tokens.truth import Ghosts
from localspec.chat.turn import Turn
from localspec.store import StoredConversation
from localspec.tui.conversation.summary import SummaryView
from localspec.tui.conversation.transcript import Transcript
from localspec.tui.conversation.turn import TurnView
from localspec.tui.conversation.turn_notes import by_toy, turn_note, version_note
from localspec.tui.keys.keymap import Keymap
from localspec.tui.tokens.glimpse import Glimpse
from localspec.tui.tokens.palette import Palette

NOTHING_SAID = "Nothing has been said yet."
_BUSY = "A reply is under way; {stop} stops it, then this is possible."

Say = Callable[[str], None]


class TurnController:
    """Draws what the session has, for the desks of editing, reading and summaries too."""

    def __init__(
        self,
        session: ChatSession,
        palette: Callable[[], Palette],
        say: Say,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.session = session
        self.glimpse = Glimpse(clock)
        """Of what was rejected, where that is shown briefly."""
        self.transcript = Transcript(self._make)
        self.say = say
        self.keymap = Keymap({})
        """The keys that are named in what is said."""
        self._palette = palette

    @property
    def chosen(self) -> Turn | None:
        """What keys are about."""
        if self.transcript.selected is not None:
            return self.transcript.selected.exchange
        said = self.session.thread.exchanges
        return said[-1] if said else None

    @property
    def busy(self) -> str:
        """Why something is not possible now."""
        return self.keymap.worded(_BUSY)

    def free_to_change(self) -> Turn | None:
        """What keys are about, if it can be changed now; else that is said."""
        exchange = self.chosen
        if exchange is None:
            self.say(NOTHING_SAID)
        elif not self.session.free:
            self.say(self.busy)
            return None
        return exchange

    # Drawing

    async def show(self) -> None:
        """Draw the conversation as it is now."""
        waiting = [exchange for exchange in self.session.waiting if exchange.question is None]
        await self.transcript.sync([*self.session.thread.exchanges, *waiting])
        self.label()

    async def turn_to(self, conversation: StoredConversation, message: str | None = None) -> list[Turn]:
        """Go to another conversation, and to a message in it; gives back what waited in the one before."""
        withdrawn = self.session.turn_to(conversation)
        if message is not None:
            self.session.thread.show(message)
        await self.transcript.clear()
        await self.show()
        exchange = self.session.thread.holding(message) if message else None
        if exchange is not None:
            await self.transcript.reveal(exchange)
        return withdrawn

    def choose_around(self, widget: Widget) -> None:
        """Choose the turn that something on screen belongs to."""
        for view in widget.ancestors:
            if isinstance(view, TurnView):
                self.transcript.choose(view)

    def label(self) -> None:
        """Say of every turn on screen which version it is."""
        for view in self.transcript.turns:
            self._label(view)

    def write(self, change: Wrote) -> None:
        """More of the reply."""
        brief = self.transcript.ghosts is Ghosts.BRIEF and self.transcript.app.animation_level != "none"
        rejected = change.rejected if brief else ()
        if (view := self.transcript.view(change.exchange)) is not None:
            view.reply.write(change.rounds, rejected)
        if rejected:
            self.glimpse.begin()
        else:
            self.glimpse.end()

    def fade(self) -> None:
        """Take away what was to be seen for a moment, once that has passed."""
        current = self.session.current if self.glimpse.over() else None
        if current is not None and (view := self.transcript.view(current)) is not None:
            view.reply.tokens.fade()

    def close(self, exchange: Turn) -> TurnView | None:
        """The reply is over: its last look, and what there is to say about it."""
        self.glimpse.end()
        view = self.transcript.view(exchange)
        if view is not None:
            view.reply.finish()
            self._label(view)
            if exchange.reply.error is not None:
                view.fail(exchange.reply.error)
            self.transcript.settle(view)
        return view

    def begin(self, exchange: Turn) -> None:
        """The reply has begun."""
        view = self.transcript.view(exchange)
        if view is not None:
            view.begin()
            self._label(view)

    async def withdraw(self, exchanges: list[Turn]) -> None:
        """Messages that waited are not to be answered: those that were never said are gone."""
        for exchange in exchanges:
            if exchange.question is None and exchange.answer is None:
                await self.transcript.discard(exchange)
                continue
            if exchange.continued:
                exchange.unload()
            await self.transcript.remake(exchange)

    def let_go(self, exchange: Turn) -> None:
        """A turn is far away; its tokens can be read again."""
        if exchange not in (self.session.last, self.session.current):
            self.session.thread.unload(exchange)

    def _make(self, exchange: Turn) -> TurnView:
        self.session.thread.load(exchange)
        if exchange.is_summary:
            return self._make_summary(exchange)
        view = TurnView(exchange, self._palette, queued=exchange in self.session.waiting)
        if exchange is not self.session.current and exchange not in self.session.waiting:
            if exchange.answer is not None:
                view.reply.finish()
            self._label(view)
            if exchange.reply.error is not None:
                view.fail(exchange.reply.error)
        return view

    def _make_summary(self, exchange: Turn) -> TurnView:
        view = SummaryView(exchange, self._palette)
        if exchange is not self.session.current:
            view.reply.finish()
            view.note(closing_note(exchange.reply))
        return view

    def _label(self, view: TurnView) -> None:
        exchange = view.exchange
        if (exchange.question is None and exchange.answer is None) or exchange.is_summary:
            return
        if exchange not in self.session.thread.exchanges:
            return  # of the conversation before, on screen until the next one is drawn
        question, replies = self.session.thread.versions(exchange)
        view.draw_question(version_note(question))
        under_way = exchange is self.session.current or exchange in self.session.waiting
        view.note("" if under_way else turn_note(exchange, replies, toy=by_toy(exchange, self.session)))
