"""A conversation with a pair that is loaded in this process: every reply is followed to its end while it is made."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from localspec.base.errors import LocalSpecError
from localspec.chat.active_reply import ActiveReply
from localspec.chat.core import ChatCore
from localspec.chat.pair_slot import InProcessPair
from localspec.chat.turn import Turn
from localspec.config import read_config
from localspec.engine.events import Event
from localspec.insight.observers import Observer
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import Reply
from localspec.store import Store, StoredConversation


class InProcessChat(ChatCore):
    """One conversation after another with the pair of an ``InProcessPair``. For one thread, the main one."""

    def __init__(
        self,
        pair: InProcessPair,
        store: Store | None = None,
        conversation: StoredConversation | None = None,
        observer: Observer | None = None,
    ) -> None:
        super().__init__(pair, store, conversation, observer)
        self.pair = pair
        self._ids = count(1)

    def ask(self, text: str) -> Turn:
        """Store a question under the last message; its turn is to be answered."""
        self.stored.ask(text)
        self.thread.refresh()
        return self.thread.turns[-1]

    def answer(self, turn: Turn, show: Callable[[Event], object]) -> Reply:
        """Reply to a turn, or go on with its reply, and show every event. As ``begin`` and ``follow``."""
        return self.follow(self.begin(turn), show)

    def begin(self, turn: Turn) -> ActiveReply:
        """Begin the reply of a turn, with the pair that a trial wants loaded; pass it to ``follow``.

        Raises LocalSpecError if a pair cannot be loaded.
        """
        if self.last is not None and self.last is not turn:
            self.thread.unload(self.last)  # its tokens are in the store
            self.last = None
        self.adopt_promoted()
        self._load_tried()
        if not self.tool_use.ready_for(turn, self.chat_config):
            self.tool_use.toolbox.wait()
        return self.begin_reply(next(self._ids), turn, self.pair.info)

    def follow(self, reply: ActiveReply, show: Callable[[Event], object]) -> Reply:
        """Have a reply made, and show every event. Raises as ``ActiveReply.follow``; the reply so far is stored."""
        try:
            reply.follow(self.pair.reply(reply.asked), show)
        finally:
            self._ended(reply.turn)
        self.adopt_promoted()
        return reply.turn.reply

    def switch(self, chat_config: ChatConfig) -> None:
        """Go on with another pair. Raises LocalSpecError as ``InProcessPair.change``."""
        former = self.chat_config
        self.pair.change(chat_config)
        if chat_config.system != former.system:
            self.stored.set_system(chat_config.system)

    def turn_to(self, conversation: StoredConversation) -> None:
        """Leave the conversation for another, and reply by the settings of that one."""
        changed = conversation.settings != self.stored.settings
        self._enter(conversation)
        if changed and (settings := self.chat_config.in_use) is not None:
            self.adopt(settings.resolve(settings.config, conversation.settings), keep_system=True)

    def begin_anew(self) -> None:
        """Leave the conversation for a new one."""
        self.turn_to(self.store.begin(self.chat_config.system))
        self.stored.set_system(self.chat_config.system)

    def adopt_promoted(self) -> None:
        """Reply by the settings that the promotion of a trial wrote, if there was one."""
        settings = self.chat_config.in_use
        if self.trials.wrote_settings() and settings is not None:
            self._slot.adopt(settings.resolve(read_config(), self.stored.settings))

    def _load_tried(self) -> None:
        tried = self._tried()
        if tried is None:
            return
        try:
            self.pair.change(tried)
        except LocalSpecError as error:
            if self.trials.instead_of(tried, error) is None:
                raise
