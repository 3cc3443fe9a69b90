"""Commands that change a conversation: answer again, edit, continue, versions, delete, undo.

They are about the chosen turn, or else the last. Nothing is lost: a reply, an edited text and a deleted turn can be
brought back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from localspec.base.errors import StoreError
from localspec.base.visible import visible_line
from localspec.chat.commands.command import Command
from localspec.chat.commands.turns import (
    AGAIN,
    CONTINUE,
    COPY,
    DELETE,
    EDIT,
    REWRITE,
    UNDO,
    VERSION_AFTER,
    VERSION_BEFORE,
)
from localspec.chat.compose.attachment import Attachment
from localspec.chat.compose.message import WrittenMessage, taken_apart
from localspec.chat.turn import Turn
from localspec.tui.controllers.turns import NOTHING_SAID, TurnController
from localspec.tui.conversation.turn_notes import leading_n, unfinished
from localspec.tui.keys.handling import handles
from localspec.tui.prompt.prompt import Prompt

_EDITING = "{send} asks this as another version; {stop} leaves it."
_REWRITING = "{send} keeps this as another version of the reply; {stop} leaves it."
SUMMARY = "This stands for turns that were summarised; /undo brings them back, and then they can be changed."


@dataclass(frozen=True, slots=True)
class _Edited:
    """The text being edited: a question, or a reply."""

    turn: Turn
    of_reply: bool
    besides: tuple[Attachment, ...] = ()
    """Files that went with the question without being mentioned in it; they still go with it."""

    def asked(self, written: WrittenMessage) -> str:
        """The edited question as the model reads it."""
        mentioned = {attachment.path for attachment in written.attachments}
        besides = (attachment for attachment in self.besides if attachment.path not in mentioned)
        return replace(written, attachments=(*besides, *written.attachments)).content


class EditingController:
    """Changes the conversation, and draws it."""

    def __init__(self, turns: TurnController, prompt: Prompt) -> None:
        self._session = turns.session
        self._turns = turns
        self._prompt = prompt
        self._say = turns.say
        self._editing: _Edited | None = None

    @handles(AGAIN)
    async def again(self) -> None:
        """Have the question answered again."""
        turn = self._free_to_change()
        if turn is None:
            return
        if turn.question is None:
            self._say("No question stands above this reply.")
            return
        self._turns.transcript.unselect()
        await self._follow(self._session.queue(self._session.thread.again(turn)))

    @handles(CONTINUE)
    async def carry_on(self) -> None:
        """Continue a reply that ended early or was edited."""
        turn = self._free_to_change()
        if turn is None:
            return
        self._session.thread.load(turn)
        if turn.answer is None:
            self._say("There is no reply yet that could be continued.")
        elif not _goes_on(turn):
            self._say("This reply is complete; only one that ended early can be continued.")
        else:
            self._turns.transcript.unselect()
            await self._follow(self._session.queue(self._session.thread.carry_on(turn)))

    @handles(EDIT)
    def edit(self) -> None:
        """Put the question into the prompt, to be edited."""
        turn = self._free_to_change()
        if turn is None:
            return
        turn = self._session.thread.asked_above(turn)
        if turn is None:
            self._say("No question stands above this reply.")
        else:
            written, besides = taken_apart(turn.prompt)
            self._edit(_Edited(turn, of_reply=False, besides=besides), written)

    @handles(REWRITE)
    def rewrite(self) -> None:
        """Put the reply into the prompt, to be edited."""
        turn = self._free_to_change()
        if turn is not None and turn.answer is None:
            self._say("There is no reply yet.")
        elif turn is not None:
            self._edit(_Edited(turn, of_reply=True), WrittenMessage(turn.said))

    @property
    def under_way(self) -> bool:
        """True while a question or a reply is edited in the prompt."""
        return self._editing is not None

    @property
    def leads_n(self) -> int | None:
        """The estimated tokens above the text being edited; None while nothing is."""
        edited = self._editing
        return None if edited is None else leading_n(self._session, edited.turn, of_reply=edited.of_reply)

    @property
    def without_effect(self) -> frozenset[Command]:
        """Commands that would do nothing with the chosen turn."""
        turn = self._turns.chosen
        if turn is None:
            return frozenset()
        thread = self._session.thread
        thread.load(turn)
        commands = set() if turn.answer is not None and _goes_on(turn) else {CONTINUE}
        if all(of == 1 for _, of in thread.versions(turn)):
            commands.add(VERSION_BEFORE)
        if not turn.said:
            commands.add(COPY)
        return frozenset(commands)

    def leave(self) -> bool:
        """Stop editing; returns False if nothing was edited."""
        if not self.under_way:
            return False
        self._editing = None
        self._prompt.take_up()
        self._say("")
        return True

    async def submit(self, written: WrittenMessage) -> None:
        """Take the edited text as a new version."""
        assert self._editing is not None
        edited, self._editing = self._editing, None
        self._prompt.take_up()
        self._turns.transcript.unselect()
        if edited.of_reply:
            changed = self._session.thread.rewrite(edited.turn, written.unfolded.strip())
            self._say("The reply is as you wrote it; /continue has the model go on from there.")
            await self._turns.show()
            await self._turns.transcript.pages.remake(changed)
        else:
            self._say("")
            changed = self._session.thread.resend(edited.turn, edited.asked(written))
            await self._follow(self._session.queue(changed))

    def _edit(self, edited: _Edited, written: WrittenMessage) -> None:
        self._editing = edited
        self._prompt.put_aside(written)
        self._say(self._turns.keymap.worded(_REWRITING if edited.of_reply else _EDITING))

    async def _follow(self, turn: Turn) -> None:
        await self._turns.show()
        await self._turns.transcript.pages.remake(turn)
        self._turns.transcript.follow()

    # Versions

    @handles(VERSION_BEFORE, -1)
    @handles(VERSION_AFTER, 1)
    async def version(self, step: int) -> None:
        """Show the previous or next version of the reply, and past the last one of the question."""
        turn = self._free_to_change()
        if turn is None:
            return
        question, replies = self._session.thread.versions(turn)
        if question[1] == replies[1] == 1:
            self._say("There is one version of this turn. Edit it, or have it answered anew, for another.")
            return
        shown = self._session.thread.turn_to(turn, step)
        if shown is None:
            self._say(f"This is the {'last' if step > 0 else 'first'} version.")
        else:
            await self._turns.show()
            self._say("")
            await self._turns.transcript.reveal(shown)

    @handles(DELETE)
    async def delete(self) -> None:
        turn = self._free_to_change()
        if turn is None:
            return
        self._turns.transcript.unselect()
        what = self._session.thread.delete(turn)
        await self._turns.show()
        self._say(f"{what} is deleted; /undo brings it back.")

    @handles(UNDO)
    async def undo(self) -> None:
        """Bring back what was deleted or summarised last: turns of this conversation, or another conversation."""
        if not self._session.free:
            self._say(self._turns.busy)
            return
        try:
            undone = self._session.undo()
        except StoreError as error:
            self._say(str(error))
            return
        if undone is None:
            self._say("There is nothing to bring back: no turn was deleted.")
            return
        if undone.message is None:
            self._say(f"{visible_line(undone.conversation.title)} is back in the list of conversations.")
            return
        await self._turns.show()
        self._say("The full turns are back." if undone.is_summary else "The turn is back.")

    def _free_to_change(self) -> Turn | None:
        """The turn that commands are about, if it can be changed now; otherwise None, after a notice."""
        turn = self._turns.chosen
        if turn is not None and self._session.free and not turn.is_summary:
            return turn
        self._say(NOTHING_SAID if turn is None else SUMMARY if self._session.free else self._turns.busy)
        return None


def _goes_on(turn: Turn) -> bool:
    """True if the reply can be continued."""
    return not turn.is_summary and (unfinished(turn) or not turn.reply.done)
