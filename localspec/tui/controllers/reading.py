"""Commands that read a conversation: copy, links, blocks of code, reasoning, title and export.

They are about the chosen turn, or else the last.
"""

from __future__ import annotations

from pathlib import Path

from textual.widget import Widget

from localspec.chat.commands.conversations import EXPORT, RENAME
from localspec.chat.commands.turns import CODE, COPY, FAST, LINKS, PASSAGES, THOUGHTS
from localspec.chat.exporting import export
from localspec.chat.markdown import code_blocks, links_of
from localspec.chat.turn import Turn
from localspec.tui.controllers.turns import NOTHING_SAID, TurnController
from localspec.tui.conversation.summary_view import SummaryView
from localspec.tui.conversation.turn_notes import copied_note
from localspec.tui.keys.handling import handles
from localspec.tui.screens.links import LinksScreen
from localspec.tui.terminal.clipboard import copy


class ReadingController:
    """Handles the commands that change no turn."""

    def __init__(self, turns: TurnController) -> None:
        self._session = turns.session
        self._turns = turns
        self._say = turns.say
        self._copied: tuple[Turn, int] | None = None
        self._block: tuple[Turn, int] | None = None
        """The chosen block of code: the turn, and the number of the block in its reply."""

    # The conversation as a whole

    @handles(RENAME)
    def rename(self, title: str = "") -> str:
        """Give the conversation a title; returns the notice."""
        stored = self._session.thread.stored
        if not title:
            return f"This conversation is called “{stored.title}”. /rename and a title changes that."
        stored.rename(title)
        return f"This conversation is called “{stored.title}”."

    @handles(EXPORT)
    def export(self, name: str = "") -> str:
        """Write the conversation to a file in the current folder, named after its title unless ``name`` is given.

        Raises what ``export`` raises.
        """
        return f"Written to {export(self._session.thread.stored, Path.cwd(), name)}."

    # Reading

    @handles(FAST)
    def toggle_pace(self) -> str:
        """Switch between full speed and a reading pace; returns the notice."""
        return self._session.pacer.toggle()

    @handles(COPY)
    async def copy_reply(self) -> str:
        """Copy the chosen reply; returns the notice."""
        turn = self._turns.chosen
        if turn is None or not turn.said:
            return _nothing_to_copy(turn)
        return await self.copy(turn.said, "reply")

    @handles(CODE)
    async def copy_code(self) -> str:
        """Copy the chosen block of code, or the reply's last, and asked again the one before; returns the notice."""
        turn = self._turns.chosen
        if turn is None or not turn.said:
            return _nothing_to_copy(turn)
        blocks = code_blocks(turn.said)
        if not blocks:
            return "There is no block of code in this reply."
        return await self.copy(self._next_block(turn, blocks), "code")

    async def copy(self, text: str, what: str) -> str:
        """Copy a text and call it ``what``; returns the notice."""
        return copied_note(text, await copy(self._turns.transcript.app, text), what)

    def _next_block(self, turn: Turn, blocks: list[str]) -> str:
        if self._block is not None and self._block[0] is turn and self._block[1] < len(blocks):
            return blocks[self._block[1]]
        before = self._copied[1] if self._copied and self._copied[0] is turn else len(blocks)
        at = (before - 1) % len(blocks)
        self._copied = (turn, at)
        return blocks[at]

    @handles(LINKS)
    def list_links(self, first: str = "") -> str | None:
        """List the links of the chosen reply, beginning at ``first``; returns the notice if there are none."""
        turn = self._turns.chosen
        if turn is None or not turn.said:
            return _nothing_to_copy(turn)
        links = links_of(turn.said)
        if not links:
            return "There is no link in this reply."
        self._turns.transcript.app.push_screen(LinksScreen(links, first), lambda notice: self._say(notice or ""))
        return None

    async def go_to_block(self, step: int) -> bool:
        """Choose the previous or next block of code, in any turn; returns False if there is none."""
        blocks = [
            (turn, number) for turn in self._session.thread.turns for number in range(len(code_blocks(turn.said)))
        ]
        place = self._place_among(blocks, step)
        if not 0 <= place < len(blocks):
            self._say("There is no block of code." if not blocks else "There is no further block of code this way.")
            return False
        self.leave_block()
        turn, number = self._block = blocks[place]
        view = self._turns.transcript.pages.view(turn)
        if view is None or self._turns.transcript.selected is not view:
            await self._turns.transcript.reveal(turn)
        self._mark_block()
        in_reply = [each for each, _ in blocks].count(turn)
        self._say(f"Block {number + 1} of {in_reply} in this reply; /code copies it.")
        return True

    def leave_block(self) -> None:
        """Choose no block of code."""
        for fence in self._fences():
            fence.remove_class("-marked")
        self._block = None

    def _place_among(self, blocks: list[tuple[Turn, int]], step: int) -> int:
        """The number of the block to go to, from the chosen block, or else from the chosen turn, or from the end."""
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
        """Mark the chosen block, once its turn is drawn."""

        def mark() -> None:
            fences = self._fences()
            if self._block is not None and self._block[1] < len(fences):
                fence = fences[self._block[1]]
                fence.add_class("-marked")
                self._turns.transcript.scroll_to_widget(fence, animate=False, top=True)

        self._turns.transcript.call_after_refresh(mark)

    def _fences(self) -> list[Widget]:
        view = self._turns.transcript.pages.view(self._block[0]) if self._block is not None else None
        return view.reply.fences() if view is not None else []

    @handles(THOUGHTS)
    def unfold(self) -> None:
        """Show what was thought before the answer, or what a summary says, or fold it away."""
        turn = self._turns.chosen
        view = self._turns.transcript.pages.view(turn) if turn else None
        if isinstance(view, SummaryView):
            view.unfold()
        elif view is None or not view.reply.unfold():
            self._say("Nothing was thought aloud before this answer." if turn else NOTHING_SAID)

    @handles(PASSAGES)
    def unfold_files(self) -> None:
        """Show the files and passages that went with the question, or fold them away."""
        turn = self._turns.chosen
        view = self._turns.transcript.pages.view(turn) if turn else None
        if view is None or not view.unfold_files():
            self._say("No file went with this question." if turn else NOTHING_SAID)


def _nothing_to_copy(turn: Turn | None) -> str:
    return NOTHING_SAID if turn is None else "There is no reply to copy."
