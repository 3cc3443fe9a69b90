"""The held-out questions: what the pair is judged by, and must never be trained on."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from template import Tool, listed
from turns import Chat

HELD_OUT = Path(__file__).with_name("heldout.jsonl")


@dataclass(frozen=True)
class Item:
    """One held-out conversation; only the last reply is judged. A result of a tool is a turn like any other.

    The late ones were written after the last pattern of the recipe as it was then, the added ones before the first pattern of what
    the recipe has learned since: commands, keys, the command line and tools.
    """

    id: str
    subject: str
    turns: list[str]
    system: str = ""
    expect: list[str] = field(default_factory=list)
    exact: str = ""
    late: bool = False
    added: bool = False
    tools: list[dict[str, Any]] = field(default_factory=list)
    """The tools that may be called, as the chat template is given them."""

    @property
    def opening(self) -> Chat:
        """The system message, if there is one, with the tools in it."""
        tools = [Tool(t["name"], tuple(t["parameters"]["properties"]), t["description"]) for t in self.tools]
        text = listed(self.system, tools) if tools else self.system
        return [{"role": "system", "content": text}] if text else []

    def passes(self, reply: str) -> bool:
        """Exactly right where there is one right answer, otherwise one of the patterns that only the right subject has."""
        if self.exact:
            return reply.strip() == self.exact
        return any(re.search(pattern, reply, re.DOTALL) for pattern in self.expect)


def items() -> list[Item]:
    return [Item(**json.loads(line)) for line in HELD_OUT.read_text(encoding="utf-8").splitlines()]


def normalised(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def untouched(chat: Chat, keys: frozenset[str]) -> bool:
    """True if no question of a chat is a held-out one, whatever its case and punctuation."""
    return not any(message["role"] == "user" and normalised(message["content"]) in keys for message in chat)


def held_out_keys() -> frozenset[str]:
    """The questions that stand alone, as `untouched` compares them; a follow-up like "why?" is anybody's."""
    return frozenset(normalised(item.turns[-1]) for item in items() if len(item.turns) == 1 and not item.system)
