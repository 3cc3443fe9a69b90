"""The state that the commands of the line mode work on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from localspec.chat.compose.attachment import Attachment
from localspec.chat.in_process import InProcessChat
from localspec.chat.papers.meaning import Meaning
from localspec.line.output import LineOutput


@dataclass(slots=True)
class State:
    """The chat, its output, and what one command leaves for another."""

    chat: InProcessChat
    output: LineOutput
    attached: list[Attachment] = field(default_factory=list)
    """Files of the next message."""
    meaning: Meaning = field(default_factory=Meaning)
    """Ranks passages of files that are too large."""
    listed: list[tuple[str, str | None]] = field(default_factory=list)
    """Ids of the conversations listed last, each with that of a message or None; in their order."""
    ask: Callable[[str, str], str | None] | None = None
    """Reads a line from the keyboard: takes the prompt and a text to change. None if nobody types."""
