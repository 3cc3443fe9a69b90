"""A stored conversation as turns, with the changes that a reader can make to it.

Turns that a change leaves in place stay the same objects, so that they are not drawn again. Nothing is ever
destroyed: what is answered again, edited or deleted stays in the tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from localspec.base.errors import StoreError
from localspec.chat.compose.attachment import brief
from localspec.chat.reply_metadata import reply_about
from localspec.chat.tokens.inspectable_reply import InspectableReply, TokenSource
from localspec.chat.turn import Turn
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import Message, Role
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import Generate
from localspec.store import (
    ModelFileRecord,
    Node,
    Recap,
    Recorder,
    ReplyMetadata,
    ReplyState,
    StoredConversation,
    SummaryRecorder,
)
from localspec.store.summaries import later

SHOWN_ROWS = 19
SHOWN_CHARS = 8_000
"""The longest part of a question that is shown; with the row that says so it fills a turn's limit."""


class Thread:
    """The turns on the conversation's current path through its tree."""

    def __init__(self, stored: StoredConversation) -> None:
        self.stored = stored
        self.turns: list[Turn] = []
        """Oldest first; messages that wait are not among them."""
        self._recap: Recap | None = None
        self.refresh()

    def refresh(self) -> None:
        known = {(turn.question, turn.answer): turn for turn in self.turns}
        self.turns, self._recap = [], self.stored.recap
        if self._recap is not None:
            self.turns.append(known.get((None, self._recap.node.id)) or restored_summary(self._recap))
        path = later(self.stored.path, self._recap)
        results = results_by_reply(path)
        for question, answer in pairs_of(path):
            ids = (question.id if question else None, answer.id if answer else None)
            turn = known.get(ids) or restored(question, answer)
            turn.results = tuple(results.get(answer.id, ())) if answer else ()
            self.turns.append(turn)

    def holding(self, message: str) -> Turn | None:
        """The turn on the path that has this message, or the summary that covers it."""
        if self._recap is not None and any(node.id == message for node in self._recap.covered):
            return self.turns[0]
        at = next((e for e in self.turns if message in (e.question, e.answer)), None)
        return at or next((e for e in self.turns if any(node.id == message for node in e.results)), None)

    def came_later(self, one: Turn, other: Turn) -> bool:
        """True if ``one``'s reply was begun after ``other``'s."""
        tree = self.stored.tree
        if one.answer is None or other.answer is None or one.answer not in tree or other.answer not in tree:
            return False
        return tree.node(one.answer).created > tree.node(other.answer).created

    def deleted_since(self, turn: Turn) -> int:
        """The characters of the messages above a reply that have been deleted since it was begun."""
        tree = self.stored.tree
        if turn.answer is None or turn.answer not in tree:
            return 0
        reply = node = tree.node(turn.answer)
        chars_n = 0
        while node.parent is not None:
            node = tree.node(node.parent)
            if node.deleted is not None and node.deleted > reply.created:
                chars_n += len(node.content)
        return chars_n

    def load(self, turn: Turn) -> None:
        """Read the reply's tokens, if that was not done yet. Where they cannot be read, the text stays."""
        if turn.loaded or turn.answer is None:
            return
        turn.loaded = True
        try:
            found = self.stored.reply(turn.answer)
        except (StoreError, ValueError):
            return
        if found is None:
            return
        reply = found.to_reply()
        if turn.lead.endswith(reply.text):
            turn.lead = turn.lead.removesuffix(reply.text)
            turn.reply = InspectableReply.restored(reply, continued=len(found.parts) > 1)
            turn.about = found.parts[0].about if len(found.parts) == 1 and not turn.lead else None

    def recall(self, turn: Turn, chat_config: ChatConfig, info: PairInfo | None) -> None:
        """Restore the source of a restored reply's tokens, if the pair that wrote it is loaded now."""
        about, now = turn.about, reply_about(chat_config, info)
        if about is None or turn.reply.sources or now.target is None or turn.is_summary:
            return
        if now.target.agrees_with(about.target) and _agree(now.draft, about.draft):
            asked = Generate(0, tuple(self.messages(turn)), about.options)
            turn.reply.sources.append(TokenSource(0, asked, chat_config.load))

    def unload(self, turn: Turn) -> None:
        """Forget the tokens of a reply that can be read again."""
        stays = turn.looked_into or self.stored.trouble is not None or turn.answer is None
        if not stays and turn in self.turns:
            turn.unload()

    # What is to be answered

    def begin(self, turn: Turn, about: ReplyMetadata) -> Recorder | SummaryRecorder:
        """Store the message, if it is not stored yet, and begin or continue its reply."""
        if turn.summary_request is not None:
            summary = self.stored.begin_summary(turn.summary_request.through, about)
            turn.answer = summary.message
            return summary
        if turn.continued and turn.answer is not None:
            recorder = self.stored.continue_reply(turn.answer, about)
        else:
            recorder = self.stored.begin_reply(about, under=self.say(turn))
        turn.answer = recorder.message
        if turn not in self.turns:
            self.turns.append(turn)
        self.refresh()
        return recorder

    def say(self, turn: Turn) -> str:
        """Store the message, if it is not stored yet; returns its id."""
        if turn.question is None:
            turn.question = self.stored.ask(turn.prompt).id
        return turn.question

    @property
    def begun(self) -> bool:
        """True once there is a reply in this conversation."""
        return any(node.role is Role.ASSISTANT for node in self.stored.tree.nodes)

    def messages(self, turn: Turn) -> Sequence[Message]:
        """The messages that the model reads for this reply."""
        if turn.summary_request is not None:
            return turn.summary_request.messages
        above = turn.question
        if above is None and turn.answer is not None:
            above = self.stored.tree.parent(turn.answer)
        return self.stored.messages(above) if above else ()

    def again(self, turn: Turn) -> Turn:
        """Make room for another reply beside this one. Raises ValueError for a reply without a question."""
        if turn.question is None:
            raise ValueError("nothing was asked")
        self.stored.go_to(turn.question)
        self.refresh()
        return self.turns[-1]

    def asked_above(self, turn: Turn) -> Turn | None:
        """The turn whose question this reply is about, itself or, where it goes on from calls, one above; else None."""
        for each in reversed(self.turns[: self.turns.index(turn) + 1]):
            if each.question is None or each.prompt:
                return each if each.prompt else None
        return None

    def resend(self, turn: Turn, text: str) -> Turn:
        """Make another version of a question, not answered yet. Raises ValueError for a reply without a question."""
        if turn.question is None or not turn.prompt:
            raise ValueError("nothing was asked")
        self.stored.edit(turn.question, text)
        self.refresh()
        return self.turns[-1]

    def rewrite(self, turn: Turn, text: str) -> Turn:
        """Make another version of a reply, written by hand. Raises ValueError if there is no reply."""
        if turn.answer is None:
            raise ValueError("nothing was answered")
        self.stored.edit(turn.answer, text)
        self.refresh()
        return self.turns[-1]

    def carry_on(self, turn: Turn) -> Turn:
        """Reopen a reply to continue it; the turns after it become a branch. Raises ValueError if there is no reply."""
        if turn.answer is None:
            raise ValueError("nothing was answered")
        self.load(turn)
        turn.go_on()
        self.stored.go_to(turn.answer)
        self.refresh()
        return turn

    # What is shown

    def versions(self, turn: Turn) -> tuple[tuple[int, int], tuple[int, int]]:
        """The version shown and the number of versions, of the message and of the reply; (1, 1) for one or none."""
        if turn.is_summary:
            return (1, 1), (1, 1)
        question = self.stored.tree.position(turn.question) if turn.question else (1, 1)
        replies, at = self._replies(turn)
        # A question that is answered anew has replies beside the one to come.
        return question, (at + 1, max(at + 1, len(replies)))

    def turn_to(self, turn: Turn, step: int) -> Turn | None:
        """Show the previous or next reply; past the last, the previous or next version of the question. Else None."""
        replies, at = self._replies(turn)
        if self._show_one_of(replies, at + step):
            return self.holding(turn.question or replies[at + step])
        if turn.question is None:
            return None
        questions = [node.id for node in self.stored.tree.siblings(turn.question)]
        place = questions.index(turn.question) + step
        return self.holding(questions[place]) if self._show_one_of(questions, place) else None

    def _replies(self, turn: Turn) -> tuple[list[str], int]:
        """The ids of all versions of the reply, and the index of this one; one that has not begun comes after them.

        Where a question was left without a reply, the message that follows it is the last version.
        """
        tree, question, answer = self.stored.tree, turn.question, turn.answer
        below = tree.children(question) if question else tree.siblings(answer) if answer else ()
        replies = [node.id for node in below if node.role is Role.ASSISTANT]
        said_next = [node.id for node in below if node.role is Role.USER]
        versions = replies + said_next[-1:]
        if answer in replies:
            return versions, replies.index(answer)
        goes_on = bool(said_next) and any(node.id in said_next for node in self.stored.path)
        return versions, len(replies) if goes_on else len(versions)

    def _show_one_of(self, versions: Sequence[str], place: int) -> bool:
        """Show the version with this index; returns False if there is none."""
        there = 0 <= place < len(versions)
        if there:
            self.show(versions[place])
        return there

    def show(self, message: str) -> None:
        """Put a message on the path."""
        self.stored.choose(message)
        self.refresh()

    # Deleting

    def delete(self, turn: Turn) -> str:
        """Delete the turn, or of several replies to its question this one; returns what was deleted, in words.

        ``ChatCore.undo`` brings it back.
        """
        node = turn.answer or turn.question
        gone = self.stored.delete(node) if node is not None else ()
        self.refresh()
        return deleted_in_words(gone)


def deleted_in_words(gone: Sequence[Node]) -> str:
    """A turn that was deleted, or one version of its reply, at the beginning of a sentence."""
    other_replies = bool(gone) and gone[0].role is Role.ASSISTANT and gone[0].parent is not None
    return "This version of the reply" if other_replies else "The turn"


def restored(question: Node | None, answer: Node | None) -> Turn:
    """A turn with a message and its reply as text; the message is not shown if it is the result of a call."""
    said = question is not None and question.call is None
    return Turn(
        question.content if question and said else "",
        question.id if question else None,
        answer.id if answer else None,
        lead=answer.content if answer else "",
        lead_held_n=len(answer.content) - len(answer.said) if answer else 0,
        shown=brief(question.content, SHOWN_ROWS, SHOWN_CHARS) if question and said else "",
        loaded=answer is None,
        cut_off=answer is not None and answer.state is ReplyState.CUT_OFF,
    )


def restored_summary(recap: Recap) -> Turn:
    """A turn with a summary as text."""
    turns_n = recap.turns_n
    return Turn("", answer=recap.node.id, lead=recap.node.content, loaded=False, stands_for_n=turns_n)


def _agree(one: ModelFileRecord | None, other: ModelFileRecord | None) -> bool:
    """True if both may be the same file, or both are None."""
    return other is None if one is None else one.agrees_with(other)


def pairs_of(path: Sequence[Node]) -> Iterator[tuple[Node | None, Node | None]]:
    """Each question with the reply that follows it; either may be missing.

    The results of a reply's calls are the question of the next reply; without one they are of the reply above alone,
    unless they are the last of all.
    """
    question: Node | None = None
    for node in path:
        if node.role is Role.TOOL:
            question = node
        elif node.role is Role.USER:
            if question is not None and question.role is Role.USER:
                yield question, None
            question = node
        elif node.role is Role.ASSISTANT:
            yield question, node
            question = None
    if question is not None:
        yield question, None


def results_by_reply(path: Sequence[Node]) -> dict[str, list[Node]]:
    """The results of each reply's calls, by the reply's id: the messages right after it that are results."""
    found: dict[str, list[Node]] = {}
    latest: Node | None = None
    for node in path:
        if node.role is not Role.TOOL:
            latest = node
        elif latest is not None and latest.role is Role.ASSISTANT:
            found.setdefault(latest.id, []).append(node)
    return found
