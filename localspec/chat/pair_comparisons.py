"""Comparisons beside a conversation: the pair of the conversation comes back after them, and a reply may be kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from localspec.chat.active_reply import ActiveReply
from localspec.chat.comparison import Comparison
from localspec.chat.core import ChatCore
from localspec.chat.engine_queries import EngineQueries
from localspec.chat.pair_slot import EnginePairSlot, Phase
from localspec.chat.race import Lane
from localspec.chat.reply_metadata import reply_about
from localspec.chat.turn import Turn
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import Message
from localspec.runtime.pair_info import PairInfo
from localspec.runtime.worker.messages import Failed, Generate, Request


class PairComparisons:
    """Begins a comparison, and ends it. One at a time, while the engine does nothing else."""

    def __init__(
        self,
        core: ChatCore,
        slot: EnginePairSlot,
        queries: EngineQueries,
        send: Callable[[Request], None],
        new_id: Callable[[], int],
        change_pair: Callable[[], None],
    ) -> None:
        """``change_pair`` loads the next pair of ``slot``."""
        self._core = core
        self._slot = slot
        self._queries = queries
        self._send = send
        self._new_id = new_id
        self._change_pair = change_pair
        self._home: ChatConfig | None = None
        """The configuration of the conversation while others are loaded."""

    def begin(self, prompt: tuple[Message, ...] | str, chat_configs: Sequence[ChatConfig]) -> Comparison:
        """Have a message answered by several pairs. The engine must be idle."""
        self._home = self._slot.chat_config
        comparison = Comparison(self._send, self._new_id, prompt, chat_configs, self._load)
        self._queries.begin(comparison)
        return comparison

    def end(self) -> None:
        """Go back to the pair of the conversation."""
        if self._home is not None:
            home, self._home = self._home, None
            self._slot.choose(home)
            self._change_pair()

    def keep(self, lane: Lane, prompt: tuple[Message, ...] | str, message: str) -> Turn:
        """Store a recorded reply: to a new ``message``, or if that is empty as another one to the latest."""
        assert lane.chat_config is not None
        thread, latest = self._core.thread, self._core.latest
        turn = Turn(message) if message or latest is None else thread.again(latest)
        about = reply_about(lane.chat_config, lane.info)
        recorder = thread.begin(turn, about)
        asked = Generate(self._new_id(), prompt, lane.options)
        turn.reply.begin(asked, lane.chat_config.load)
        reply = ActiveReply(asked, turn, about, self._core.observer, recorder)
        for event in lane.events:
            reply.receive(event)
        self._core.last = turn
        return turn

    def load_failed(self, failure: Failed) -> bool:
        """Take in that a pair cannot be loaded; True if it was loaded for a comparison."""
        if self._home is None:
            return False
        self._slot.break_down()
        return self._queries.load_failed(failure)

    def _load(self, chat_config: ChatConfig) -> PairInfo | None:
        """Load a pair; returns it if it is loaded already."""
        if self._slot.phase is Phase.IDLE and chat_config.load == self._slot.chat_config.load:
            return self._slot.info
        self._slot.choose(chat_config)
        self._slot.change()
        return None
