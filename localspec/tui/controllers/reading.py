"""What the reader takes from what was said: copies, thoughts, the conversation's title and file.

Everything is about the turn that is chosen, or else the last.
"""

from __future__ import annotations

from pathlib import Path

from textual.widget import Widget

from localspec.base.errors import LocalSpecError
from localspec.chat.commands.chat import EXPORT, FAST, RENAME, THOUGHTS
from localspec.chat.exporting import export
from localspec.chat.session import ChatSession
from localspec.chat.text.fences import code_blocks
from localspec.chat.text.links import Link, links_of
from localspec.chat.turn import Turn
from localspec.tui.controllers.turns import NOTHING_SAID, TurnController
from localspec.tui.conversation.summary_view import SummaryView
from localspec.tui.keys.handling import handles


class ReadingController:
    """Changes nothing that was said."""

    def __init__(self, session: ChatSession, turns: TurnController) -> None:
        self._session = session
        self._turns = turns
        self._say = turns.say
        self._copied: tuple[Turn, int] | None = None
        self._block: tuple[Turn, int] | None = None
        """The block of code that was gone to: the reply, and which of its blocks."""

    # The conversation as a whole

    @handles(RENAME)
    def rename(self, title: str = "") -> str:
        """Give it a title; what there is to say about it."""
        stored = self._session.thread.stored
        if not title:
            return f"This conversation is called “{stored.title}”. /rename and a title changes that."
        stored.rename(title)
        return f"This conversation is called “{stored.title}”."

    @handles(EXPORT)
    def export(self, name: str = "") -> str:
        """Write it to a file in the current folder, called after its title if no name is given; where, or why not."""
        try:
            return f"Written to {export(self._session.thread.stored, Path.cwd(), name)}."
        except LocalSpecError as error:
            return str(error)

    # Reading

    @handles(FAST)
    def toggle_pace(self) -> str:
        """Between full speed and a reading pace; what there is to say about it."""
        return self._session.pacer.toggle()

    def text(self) -> str:
        """The reply; empty if there is none, which is said."""
        turn = self._turns.chosen
        text = turn.text if turn else ""
        if not text:
            self._say("There is no reply to copy." if turn else NOTHING_SAID)
        return text

    def code(self) -> str:
        """The block of code that was gone to, else the reply's last, asked again the one before; empty if none."""
        turn, text = self._turns.chosen, self.text()
        if turn is None or not text:
            return ""
        blocks = code_blocks(text)
        if not blocks:
            self._say("There is no block of code in this reply.")
            return ""
        if self._block is not None and self._block[0] is turn and self._block[1] < len(blocks):
            return blocks[self._block[1]]
        before = self._copied[1] if self._copied and self._copied[0] is turn else len(blocks)
        at = (before - 1) % len(blocks)
        self._copied = (turn, at)
        return blocks[at]

    async def go_to_block(self, step: int) -> bool:
        """Choose the block of code before or after, in whichever turn it is; whether there is one."""
        blocks = [
            (turn, number) for turn in self._session.thread.turns for number in range(len(code_blocks(turn.text)))
        ]
        place = self._place_among(blocks, step)
        if not 0 <= place < len(blocks):
            self._say("There is no block of code." if not blocks else "There is no further block of code this way.")
            return False
        self.leave_block()
        turn, number = self._block = blocks[place]
        view = self._turns.transcript.view(turn)
        if view is None or self._turns.transcript.selected is not view:
            await self._turns.transcript.reveal(turn)
        self._mark_block()
        in_reply = [each for each, _ in blocks].count(turn)
        self._say(f"Block {number + 1} of {in_reply} in this reply; /code copies it.")
        return True

    def leave_block(self) -> None:
        """No block of code is chosen any more."""
        for fence in self._fences():
            fence.remove_class("-marked")
        self._block = None

    def links(self) -> list[Link]:
        """Those of the reply; empty if there are none, which is said."""
        found = links_of(self.text())
        if not found and self._turns.chosen is not None and self._turns.chosen.text:
            self._say("There is no link in this reply.")
        return found

    def _place_among(self, blocks: list[tuple[Turn, int]], step: int) -> int:
        """Where to go from the block that is chosen, or else from the turn that is, or from below all."""
        if self._block in blocks:
            return blocks.index(self._block) + step
        selected = self._turns.transcript.selected
        if selected is None:
            return len(blocks) + step if step < 0 else len(blocks)
        order = self._session.thread.turns
        at = order.index(selected.turn) if selected.turn in order else len(order)
        before_n = sum(order.index(turn) < at for turn, _ in blocks)
        own_n = sum(turn is selected.turn for turn, _ in blocks)
        return before_n if step > 0 else before_n + own_n - 1

    def _mark_block(self) -> None:
        """Show which block is chosen, once its turn is drawn."""

        def mark() -> None:
            fences = self._fences()
            if self._block is not None and self._block[1] < len(fences):
                fence = fences[self._block[1]]
                fence.add_class("-marked")
                self._turns.transcript.scroll_to_widget(fence, animate=False, top=True)

        self._turns.transcript.call_after_refresh(mark)

    def _fences(self) -> list[Widget]:
        view = self._turns.transcript.view(self._block[0]) if self._block is not None else None
        return view.reply.fences() if view is not None else []

    @handles(THOUGHTS)
    def unfold(self) -> None:
        """Show what was thought before the answer, or what a summary says, or fold it away."""
        turn = self._turns.chosen
        view = self._turns.transcript.view(turn) if turn else None
        if isinstance(view, SummaryView):
            view.unfold()
        elif view is None or not view.reply.unfold():
            self._say("Nothing was thought aloud before this answer.")
