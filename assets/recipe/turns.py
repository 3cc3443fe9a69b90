"""The unit everything is made of: what a reader types and what the tour replies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

Message = dict[str, str]
Chat = list[Message]


@dataclass(frozen=True)
class Turn:
    """One question and its reply."""

    ask: str
    reply: str


@dataclass(frozen=True)
class Style:
    """The manner of replies that a system prompt asks for."""

    brief: bool = False


Family = Callable[[Random, Style], list[Turn]]
