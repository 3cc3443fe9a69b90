"""What a front end needs to open a conversation: resolved options, before anything is loaded.

The command line fills it in; the chat screen and the line mode start from it. Nothing here is
measured, and no file has been opened yet.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from localspec.chat import ReplyOptions
from localspec.load import LoadOptions


@dataclass(frozen=True, slots=True)
class Launch:
    """What to load, how to reply, and what to call it."""

    load: LoadOptions
    reply: ReplyOptions = field(default_factory=ReplyOptions)
    pair_id: str | None = None
    """As in ``models.toml``; None if the files were named on the command line."""
    title: str = ""
    """The pair in words people read."""
    tour: bool = False
    """Whether this is the built-in pair: a guided tour, paced and with speculation kept on."""
    pace_tokens_per_second: float | None = None
    """The speed at which the screen shows text, where the engine is faster than anyone reads."""
    system: str | None = None
    """The system prompt, if there is one."""
