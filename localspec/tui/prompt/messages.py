"""What the prompt says to whoever holds it."""

from __future__ import annotations

from textual.message import Message

from localspec.chat.compose.message import WrittenMessage
from localspec.chat.compose.token_counts import TokenCount


class Submitted(Message, namespace="prompt"):
    """The reader sent a message."""

    def __init__(self, written: WrittenMessage) -> None:
        super().__init__()
        self.written = written

    @property
    def text(self) -> str:
        """As it stood there."""
        return self.written.text


class Typed(Message, namespace="prompt"):
    """The text changed."""

    def __init__(self, text: str, *, by_hand: bool) -> None:
        super().__init__()
        self.text = text
        self.by_hand = by_hand
        """Whether by a key rather than all at once."""


class Said(Message, namespace="prompt"):
    """There is something to say about what the reader did."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Weighed(Message, namespace="prompt"):
    """How many tokens the message has; None if there is no message."""

    def __init__(self, count: TokenCount | None) -> None:
        super().__init__()
        self.count = count

    @property
    def text(self) -> str:
        """In words; empty if there is no message."""
        return "" if self.count is None else str(self.count)
