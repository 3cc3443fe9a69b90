"""What the commands of the line mode work on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from localspec.chat.compose.attachment import Attachment
from localspec.insight.observers import Everybody, Observer
from localspec.insight.trials.live import Trials
from localspec.line.slot import LinePairSlot
from localspec.line.voice import Voice
from localspec.runtime.messages import Reply
from localspec.store import Store, StoredConversation


@dataclass(slots=True)
class State:
    """One chat. Which conversation it is about changes; the store stays."""

    store: Store
    thread: StoredConversation
    slot: LinePairSlot
    voice: Voice
    observer: Observer = field(default_factory=Everybody)
    """Follows every reply."""
    trials: Trials = field(init=False)
    """Which replies are made otherwise, to see whether that is better."""
    attached: list[Attachment] = field(default_factory=list)
    """To go with the next message."""
    listed: list[tuple[str, str | None]] = field(default_factory=list)
    """Conversations, and messages in them, in the order they were listed last."""
    deleted: list[StoredConversation] = field(default_factory=list)
    """Whole conversations that were deleted here, to be brought back."""
    last: tuple[str, Reply] | None = None
    """The latest reply made here, by the id of its message."""
    ask: Callable[[str, str], str | None] | None = None
    """Ask the person for a line, with one that is there to be changed; None if nobody types."""

    def __post_init__(self) -> None:
        self.trials = Trials(self.store)
        self.observer = Everybody((self.trials, self.observer))

    def turn_to(self, thread: StoredConversation) -> None:
        """Leave the conversation for another, and reply as that one has it."""
        changed = thread.settings != self.thread.settings
        self.thread, self.last = thread, None
        if changed and (settings := self.slot.chat_config.in_use) is not None:
            self.slot.adopt(settings.resolve(settings.config, thread.settings))
