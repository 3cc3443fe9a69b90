"""The messages that the prompt posts."""

from __future__ import annotations

from textual.message import Message

from localspec.chat.compose.message import WrittenMessage
from localspec.chat.compose.token_counts import TokenCount


class Submitted(Message, namespace="prompt"):
    """The user sent a message."""

    def __init__(self, written: WrittenMessage) -> None:
        super().__init__()
        self.written = written

    @property
    def text(self) -> str:
        """The text as it was written."""
        return self.written.text


class Typed(Message, namespace="prompt"):
    """The text changed."""

    def __init__(self, text: str, *, by_hand: bool) -> None:
        super().__init__()
        self.text = text
        self.by_hand = by_hand
        """True if it changed by a key, False if all at once."""


class Noted(Message, namespace="prompt"):
    """A note about what the user did."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class PassagesChanged(Message, namespace="prompt"):
    """Other passages may fit the message, as more is known of what they mean."""


class Counted(Message, namespace="prompt"):
    """The number of tokens of the message; None if it is empty."""

    def __init__(self, count: TokenCount | None) -> None:
        super().__init__()
        self.count = count

    @property
    def text(self) -> str:
        """The number in words; empty for an empty message."""
        return "" if self.count is None else str(self.count)
