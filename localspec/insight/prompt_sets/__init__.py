"""Sets of prompts for benchmarks and checks: those that ship, and the user's own, one JSON object a line.

``{"prompt": "...", "subject": "code", "system": "..."}``, of which only the prompt is required, or instead of it
``"messages": [{"role": "user", "content": "..."}]``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

from localspec.base.errors import InputError, UsageError
from localspec.base.visible import is_text
from localspec.config.texts import read_text
from localspec.runtime.messages import Message, Role

NO_SUBJECT = "own"
"""The subject of prompts that do not name one."""
_MOST_BYTES = 64_000_000
_KEYS = {"prompt", "messages", "subject", "system", "id"}
_HINT = 'Each line should be a JSON object such as {"prompt": "...", "subject": "code"}.'


@dataclass(frozen=True, slots=True)
class BenchPrompt:
    """A prompt with its subject."""

    id: str
    """Unique within its set, and stable between runs."""
    subject: str
    messages: tuple[Message, ...]


def shipped_prompts() -> tuple[BenchPrompt, ...]:
    """The shipped prompts, two for each subject: code, prose, chat, json, long, copy."""
    text = (files(__name__) / "shipped.jsonl").read_text(encoding="utf-8")
    return _prompts(text, "shipped.jsonl")


def read_prompts(path: Path) -> tuple[BenchPrompt, ...]:
    """Read the prompts in a file. Raises NotFoundError, or InputError that names the line."""
    return _prompts(read_text(path, _MOST_BYTES), str(path))


def of_subjects(prompts: Sequence[BenchPrompt], subjects: Iterable[str]) -> tuple[BenchPrompt, ...]:
    """The prompts of some subjects, or all if none is given. Raises UsageError for an unknown subject."""
    wanted = set(subjects)
    known = list(dict.fromkeys(prompt.subject for prompt in prompts))
    for subject in sorted(wanted - set(known)):
        raise UsageError(f"No prompt has the subject {subject!r}.", f"There are: {', '.join(known)}.")
    return tuple(prompt for prompt in prompts if not wanted or prompt.subject in wanted)


def _prompts(text: str, source: str) -> tuple[BenchPrompt, ...]:
    # Not splitlines: a JSON string may contain line separators of Unicode.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise InputError(f"{source} has no prompts in it.", _HINT)
    prompts = tuple(_Line(source, number).read(line) for number, line in lines)
    seen: dict[str, int] = {}
    for prompt, (number, _) in zip(prompts, lines, strict=True):
        if prompt.id in seen:
            _Line(source, number).refuse(f"has the id {prompt.id!r} of line {seen[prompt.id]}")
        seen[prompt.id] = number
    return prompts


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a file of prompts."""

    source: str
    number: int

    def refuse(self, what: str) -> NoReturn:
        raise InputError(f"Line {self.number} of {self.source} {what}.", _HINT)

    def read(self, line: str) -> BenchPrompt:
        try:
            fields: Any = json.loads(line)
        except (ValueError, RecursionError):
            self.refuse("is not JSON")
        if not isinstance(fields, dict):
            self.refuse("is not a JSON object")
        for key in fields:
            if key not in _KEYS:
                self.refuse(f"has {key!r}, which is none of {', '.join(sorted(_KEYS))}")
        if ("prompt" in fields) == ("messages" in fields):
            self.refuse("should have either 'prompt' or 'messages'")
        messages = self._conversation(fields) if "messages" in fields else self._question(fields)
        subject = self._text(fields, "subject", NO_SUBJECT)
        return BenchPrompt(self._text(fields, "id", f"{subject}-{self.number}"), subject, messages)

    def _question(self, fields: dict[str, Any]) -> tuple[Message, ...]:
        question = Message(Role.USER, self._text(fields, "prompt"))
        system = self._text(fields, "system") if "system" in fields else None
        return (Message(Role.SYSTEM, system), question) if system else (question,)

    def _conversation(self, fields: dict[str, Any]) -> tuple[Message, ...]:
        if "system" in fields:
            self.refuse("has 'system' beside 'messages', where it belongs as a message")
        listed = fields["messages"]
        if not isinstance(listed, list) or not listed:
            self.refuse("should have a list of messages under 'messages'")
        messages = tuple(map(self._message, listed))
        if messages[-1].role is not Role.USER:
            self.refuse("should end with a message of the role 'user'")
        return messages

    def _message(self, fields: object) -> Message:
        if not isinstance(fields, dict) or fields.keys() != {"role", "content"} or fields["role"] not in set(Role):
            self.refuse("has a message that is not {'role': 'system', 'user' or 'assistant', 'content': '...'}")
        return Message(Role(fields["role"]), self._text(fields, "content"))

    def _text(self, fields: dict[str, Any], key: str, default: str | None = None) -> str:
        text = fields.get(key, default)
        if not isinstance(text, str) or not text.strip():
            self.refuse(f"should have text under {key!r}")
        if not is_text(text):
            self.refuse(f"has half a character under {key!r}")
        return text
