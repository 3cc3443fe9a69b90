"""A conversation with a pair, wherever that is loaded: the part common to ``ChatSession`` and ``InProcessChat``."""

from __future__ import annotations

from dataclasses import replace

from localspec.chat.active_reply import ActiveReply
from localspec.chat.compaction import KEPT_TURNS_N, summary_options, summary_request
from localspec.chat.pair_slot import PairSlot
from localspec.chat.reply_check import check_of
from localspec.chat.reply_metadata import reply_about
from localspec.chat.thread import Thread
from localspec.chat.tools.use import ToolUse
from localspec.chat.turn import Turn
from localspec.chat.undo import DeletedConversations, Undone
from localspec.insight.observers import Observer, ObserverGroup
from localspec.insight.trials.live import Assigned, Trials
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import Message
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import Generate
from localspec.store import Store, StoredConversation


class ChatCore:
    """The open conversation, the pair that replies in it, the trials it takes part in, and the observers."""

    def __init__(
        self,
        slot: PairSlot,
        store: Store | None = None,
        conversation: StoredConversation | None = None,
        observer: Observer | None = None,
    ) -> None:
        """Without a store the conversation ends with the program; without ``conversation`` a new one begins."""
        self.store = store or Store.in_memory()
        self.thread = Thread(conversation or self.store.begin(slot.chat_config.system))
        """The turns of the open conversation."""
        self.last: Turn | None = None
        """The turn answered last in this conversation."""
        self.trials = Trials(self.store)
        """Replies that are made with other settings, to compare them."""
        self.observer = ObserverGroup((self.trials, *([observer] if observer is not None else [])))
        """Follows every reply."""
        self.tool_use = ToolUse()
        """The tools that replies may call, and the calls under way."""
        self.deleted = DeletedConversations(self.store)
        """Whole conversations that were deleted in this program."""
        self._slot = slot

    @property
    def stored(self) -> StoredConversation:
        """The open conversation as the store has it."""
        return self.thread.stored

    @property
    def chat_config(self) -> ChatConfig:
        """The configuration of the pair that is loaded, is being loaded or could not be."""
        return self._slot.chat_config

    @property
    def latest(self) -> Turn | None:
        """The turn answered last, or in a conversation that was opened since, the last with a message; None without."""
        said = (turn for turn in reversed(self.thread.turns) if turn.question is not None)
        return self.last or next(said, None)

    def prompt_of(self, turn: Turn) -> tuple[Message, ...] | str:
        """The prompt of a turn's reply."""
        return turn.asked.prompt if turn.asked is not None else tuple(self.thread.messages(turn))

    def summary(self, kept_n: int = KEPT_TURNS_N) -> Turn | None:
        """A turn whose reply will stand for all turns but the last ``kept_n``; None if there are no others."""
        request = summary_request(self.stored, kept_n)
        return Turn("", summary_request=request, stands_for_n=request.turns_n) if request is not None else None

    def summarised(self, turn: Turn) -> bool:
        """True if the reply of such a turn is the summary in force; False if it was stopped, failed or is empty."""
        recap = self.stored.recap
        return recap is not None and recap.node.id == turn.answer

    def undo(self) -> Undone | None:
        """Undo what came last: the deletion of a conversation, or in this one that of a turn or a summary.

        None if there is nothing to undo. Raises StoreError.
        """
        node = self.stored.undo(since=self.deleted.last_at)
        if node is None:
            conversation = self.deleted.restore()
            return None if conversation is None else Undone(conversation)
        self.thread.refresh()
        return Undone(self.stored, node)

    def adopt(self, chat_config: ChatConfig, *, keep_system: bool = False) -> None:
        """Reply by ``chat_config`` from the next message on. The system prompt may stay.

        The loaded pair stays, unless other drafters are chosen, for which it has another file. Raises as ``switch``.
        """
        before = self.chat_config
        if chat_config.system != self.chat_config.system and not keep_system:
            self.stored.set_system(chat_config.system)
        self._slot.adopt(chat_config)
        if chat_config.reply.spec != before.reply.spec and chat_config.load.draft != before.load.draft:
            self.switch(replace(self.chat_config, load=chat_config.load))

    def switch(self, chat_config: ChatConfig) -> None:
        """Go on with another pair. Raises LocalSpecError where it is loaded at once."""
        raise NotImplementedError

    def _enter(self, conversation: StoredConversation) -> None:
        """Make another conversation the open one."""
        self.last = None
        if conversation is not self.stored:
            self.thread = Thread(conversation)

    def _tried(self) -> ChatConfig | None:
        """The configuration that a trial wants loaded before the next reply; None if that is loaded."""
        tried = self.trials.to_load(self.chat_config, self.stored.id, begins=not self.thread.begun)
        return tried if tried.load != self.chat_config.load else None

    def begin_reply(self, request_id: int, turn: Turn, info: PairInfo | None) -> ActiveReply:
        """Begin the reply of a turn, or go on with it; its message is stored if it was not. Nothing is sent yet."""
        assigned = self._assigned(turn)
        chat_config = replace(assigned.chat_config, reply=self.tool_use.options(turn, assigned.chat_config.reply))
        about = reply_about(chat_config, info, trial=assigned.trial, arm=assigned.arm)
        recorder = self.thread.begin(turn, about)
        recorder.keeps_figures = chat_config.keeps_figures
        asked = Generate(request_id, tuple(self.thread.messages(turn)), chat_config.reply, turn.text)
        if not turn.continued:
            turn.reply.begin(asked, chat_config.load)
        return ActiveReply(asked, turn, about, self.observer, recorder, check_of(chat_config.outlets.reply_check))

    def _assigned(self, turn: Turn) -> Assigned:
        """The side of a trial. Summaries are on none, and neither are replies without a question above them."""
        if turn.summary_request is not None:
            return Assigned(replace(self.chat_config, reply=summary_options(self.chat_config.reply)))
        if turn.continued and turn.question is None:
            return Assigned(self.chat_config)
        return self.trials.assign(self.chat_config, self.stored.id, self.thread.say(turn))

    def _ended(self, turn: Turn) -> None:
        """The reply of a turn is over; its calls, if it makes any, are the next to come."""
        if turn.is_summary:
            self.thread.refresh()
        else:
            self.last = turn
            self.tool_use.follow(turn, self.stored)

    def after_calls(self) -> Turn | None:
        """The turn whose reply goes on from the results of the calls, which are all made; None if none is to."""
        chain, self.tool_use.chain = self.tool_use.chain, None
        self.thread.refresh()
        return self.thread.turns[-1] if chain is not None and chain.goes_on else None
