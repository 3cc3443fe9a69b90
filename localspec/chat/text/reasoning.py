"""What a model thinks before it answers, told from the answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from localspec.engine.events import Token

_NAMES = "think|thinking|thought|reasoning|reason|seed:think"
_OPENED = re.compile(rf"\s*(?:<({_NAMES})>|\[(THINK)\])")
_CLOSED_ALONE = re.compile(r"^\s*</think>[ \t]*$", re.MULTILINE)
"""Where the template has written the opening tag itself, as those of DeepSeek-R1 do."""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Where in a reply the model thinks. Only at its beginning: what comes later is about something else."""

    text: str
    """The thoughts, without their tags."""
    end: int
    """Characters of the reply up to the answer."""
    closed: bool
    """Whether the answer has begun."""

    @staticmethod
    def find(reply: str) -> Reasoning | None:
        """None if the reply begins with its answer.

        >>> Reasoning.find("<think>Hm.</think>Yes.").text
        'Hm.'
        """
        opened = _OPENED.match(reply)
        if opened is None:
            alone = _CLOSED_ALONE.search(reply)
            return Reasoning(reply[: alone.start()].strip(), alone.end(), True) if alone else None
        tag = f"</{opened[1]}>" if opened[1] else f"[/{opened[2]}]"
        close = reply.find(tag, opened.end())
        if close < 0:
            return Reasoning(reply[opened.end() :].strip(), len(reply), False)
        return Reasoning(reply[opened.end() : close].strip(), close + len(tag), True)


def tokens_before(tokens: Sequence[Token], end: int) -> int:
    """How many tokens say the first ``end`` characters."""
    length = 0
    for number, token in enumerate(tokens):
        if length >= end:
            return number
        length += len(token.text)
    return len(tokens)
