"""What the reader does to what was said: between the session, the conversation on screen, and the prompt.

Everything is about the turn that is chosen, or else the last. Nothing is ever lost by it: what is answered
anew, edited or deleted can be gone back to.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from localspec.compose.message import Written
from localspec.errors import LocalSpecError
from localspec.store import StoredConversation
from localspec.tui.exchange import Exchange
from localspec.tui.exporting import export_markdown
from localspec.tui.fences import code_blocks
from localspec.tui.palette import Palette
from localspec.tui.session import Session
from localspec.tui.turn_notes import turn_note, unfinished, version_note
from localspec.tui.widgets.prompt import Prompt
from localspec.tui.widgets.transcript import Transcript
from localspec.tui.widgets.turn import TurnView

NOTHING_SAID = "Nothing has been said yet."
BUSY = "A reply is under way; Esc stops it, then this is possible."
EDITING = "Enter asks this as another version; Esc leaves it."
REWRITING = "Enter keeps this as another version of the reply; Esc leaves it."

Say = Callable[[str], None]


class TurnDesk:
    """Turns keys into changes of the conversation, and draws what came of them."""

    def __init__(self, session: Session, prompt: Prompt, palette: Callable[[], Palette], say: Say) -> None:
        self.transcript = Transcript(self._make)
        self._session = session
        self._prompt = prompt
        self._palette = palette
        self._say = say
        self._editing: tuple[Exchange, bool, Written] | None = None
        """What is being edited, whether that is the reply, and what stood in the prompt before."""
        self._copied: tuple[Exchange, int] | None = None

    @property
    def chosen(self) -> Exchange | None:
        """What keys are about."""
        if self.transcript.selected is not None:
            return self.transcript.selected.exchange
        said = self._session.talk.exchanges
        return said[-1] if said else None

    # Drawing

    async def show(self) -> None:
        """Draw the conversation as it is now."""
        waiting = [exchange for exchange in self._session.waiting if exchange.question is None]
        await self.transcript.sync([*self._session.talk.exchanges, *waiting])
        self.label()

    async def turn_to(self, conversation: StoredConversation, message: str | None = None) -> list[Exchange]:
        """Go to another conversation, and to a message in it; gives back what waited in the one before."""
        self._editing = None
        withdrawn = self._session.turn_to(conversation)
        if message is not None:
            self._session.talk.show(message)
        await self.transcript.clear()
        await self.show()
        exchange = self._session.talk.holding(message) if message else None
        if exchange is not None:
            await self.transcript.reveal(exchange)
        return withdrawn

    def label(self) -> None:
        """Say of every turn on screen which version it is."""
        for view in self.transcript.turns:
            self._label(view)

    def close(self, exchange: Exchange) -> TurnView | None:
        """The reply is over: its last look, and what there is to say about it."""
        view = self.transcript.view(exchange)
        if view is not None:
            view.reply.finish()
            self._label(view)
            if exchange.reply.error is not None:
                view.fail(exchange.reply.error)
            self.transcript.settle(view)
        return view

    def begin(self, exchange: Exchange) -> None:
        """The reply has begun."""
        view = self.transcript.view(exchange)
        if view is not None:
            view.begin()
            self._label(view)

    async def withdraw(self, exchanges: list[Exchange]) -> None:
        """Messages that waited are not to be answered: those that were never said are gone."""
        for exchange in exchanges:
            if exchange.question is None and exchange.answer is None:
                await self.transcript.discard(exchange)
                continue
            if exchange.continued:
                exchange.unload()
            await self.transcript.remake(exchange)

    def let_go(self, exchange: Exchange) -> None:
        """A turn is far away; its tokens can be read again."""
        if exchange not in (self._session.last, self._session.current):
            self._session.talk.unload(exchange)

    def _make(self, exchange: Exchange) -> TurnView:
        self._session.talk.load(exchange)
        view = TurnView(exchange, self._palette, queued=exchange in self._session.waiting)
        if exchange is not self._session.current and exchange not in self._session.waiting:
            if exchange.answer is not None:
                view.reply.finish()
            self._label(view)
            if exchange.reply.error is not None:
                view.fail(exchange.reply.error)
        return view

    def _label(self, view: TurnView) -> None:
        exchange = view.exchange
        if exchange.question is None and exchange.answer is None:
            return
        question, replies = self._session.talk.versions(exchange)
        view.draw_question(version_note(question))
        under_way = exchange is self._session.current or exchange in self._session.waiting
        view.note("" if under_way else turn_note(exchange, replies))

    # Answering anew, editing

    async def again(self) -> None:
        """Have the question answered anew."""
        exchange = self._free_to_change()
        if exchange is None:
            return
        if exchange.question is None:
            self._say("No question stands above this reply.")
            return
        self.transcript.unselect()
        await self._follow(self._session.again(exchange))

    async def carry_on(self) -> None:
        """Go on with a reply that ended early, or was edited."""
        exchange = self._free_to_change()
        if exchange is None:
            return
        self._session.talk.load(exchange)
        if exchange.answer is None:
            self._say("There is no reply yet to go on with.")
        elif not unfinished(exchange) and exchange.reply.done:
            self._say("This reply is complete; only one that ended early can be gone on with.")
        else:
            self.transcript.unselect()
            await self._follow(self._session.carry_on(exchange))

    def edit(self) -> None:
        """Put the question into the prompt, to be asked in other words."""
        exchange = self._free_to_change()
        if exchange is None:
            return
        if exchange.question is None:
            self._say("No question stands above this reply.")
        else:
            self._edit(exchange, exchange.prompt, reply=False)

    def rewrite(self) -> None:
        """Put the reply into the prompt, to be changed by hand."""
        exchange = self._free_to_change()
        if exchange is not None and exchange.answer is None:
            self._say("There is no reply yet.")
        elif exchange is not None:
            self._edit(exchange, exchange.text, reply=True)

    @property
    def editing(self) -> bool:
        """Whether the prompt holds something that was said."""
        return self._editing is not None

    def leave(self) -> bool:
        """Give editing up; whether there was any."""
        if self._editing is None:
            return False
        (_, _, before), self._editing = self._editing, None
        self._prompt.put(before)
        self._say("")
        return True

    async def submit(self, text: str) -> None:
        """What was edited is done."""
        assert self._editing is not None
        (exchange, of_reply, before), self._editing = self._editing, None
        self._prompt.put(before)
        self.transcript.unselect()
        if of_reply:
            changed = self._session.talk.rewrite(exchange, text)
            self._say("The reply is as you wrote it; /continue has the model go on from there.")
            await self.show()
            await self.transcript.remake(changed)
        else:
            self._say("")
            await self._follow(self._session.resend(exchange, text))

    def _edit(self, exchange: Exchange, text: str, *, reply: bool) -> None:
        before = self._editing[2] if self._editing else self._prompt.written
        self._editing = (exchange, reply, before)
        self._prompt.set_text(text)
        self._say(REWRITING if reply else EDITING)

    async def _follow(self, exchange: Exchange) -> None:
        await self.show()
        await self.transcript.remake(exchange)
        self.transcript.follow()

    def _free_to_change(self) -> Exchange | None:
        exchange = self.chosen
        if exchange is None:
            self._say(NOTHING_SAID)
        elif not self._session.free:
            self._say(BUSY)
            return None
        return exchange

    # Versions

    async def version(self, step: int) -> None:
        """Show the version before or after: of the reply, or of the question if there is but one reply."""
        exchange = self._free_to_change()
        if exchange is None:
            return
        question, replies = self._session.talk.versions(exchange)
        if question[1] == replies[1] == 1:
            self._say("There is one version of this turn. Edit it, or have it answered anew, for another.")
            return
        of_question = replies[1] == 1 or exchange.answer is None
        place = self._session.talk.exchanges.index(exchange)
        if self._session.talk.turn_to(exchange, step, of_question=of_question):
            await self.show()
            self._say("")
            await self.transcript.reveal(self._session.talk.exchanges[place])

    async def delete(self) -> None:
        """Delete the turn."""
        exchange = self._free_to_change()
        if exchange is None:
            return
        self.transcript.unselect()
        self._session.talk.delete(exchange)
        await self.show()
        self._say("The turn is deleted; /undo brings it back.")

    async def undo(self) -> None:
        """Bring back the turn deleted last."""
        if not self._session.free:
            self._say(BUSY)
            return
        exchange = self._session.talk.undo()
        if exchange is None:
            self._say("There is nothing to bring back: no turn was deleted.")
            return
        await self.show()
        self._say("The turn is back.")

    # The conversation as a whole

    def rename(self, title: str) -> str:
        """Give it a title; what there is to say about it."""
        stored = self._session.talk.stored
        if not title:
            return f"This conversation is called “{stored.title}”. /rename and a title changes that."
        stored.rename(title)
        return f"This conversation is called “{stored.title}”."

    def export(self, folder: Path) -> str:
        """Write it to a Markdown file there; where that is, or why not."""
        try:
            return f"Written to {export_markdown(self._session.store, self._session.talk.stored, folder)}."
        except LocalSpecError as error:
            return str(error)

    # Reading

    def text(self) -> str:
        """The reply; empty if there is none, which is said."""
        exchange = self.chosen
        text = exchange.text if exchange else ""
        if not text:
            self._say("There is no reply to copy." if exchange else NOTHING_SAID)
        return text

    def code(self) -> str:
        """The reply's last block of code, asked again the one before; empty if there is none, which is said."""
        exchange, text = self.chosen, self.text()
        if exchange is None or not text:
            return ""
        blocks = code_blocks(text)
        if not blocks:
            self._say("There is no block of code in this reply.")
            return ""
        before = self._copied[1] if self._copied and self._copied[0] is exchange else len(blocks)
        at = (before - 1) % len(blocks)
        self._copied = (exchange, at)
        return blocks[at]

    def unfold(self) -> None:
        """Show what was thought before the answer, or fold it away."""
        exchange = self.chosen
        view = self.transcript.view(exchange) if exchange else None
        if view is None or not view.reply.unfold():
            self._say("Nothing was thought aloud before this answer.")
