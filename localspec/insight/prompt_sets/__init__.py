"""What benchmarks and proofs ask: the prompts that ship with LocalSpec, and the user's own, one JSON object a line.

``{"prompt": "...", "subject": "code", "system": "..."}``, where only the prompt is needed, or in its place
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
from localspec.config.texts import read_text
from localspec.runtime.messages import Message, Role

NO_SUBJECT = "own"
"""The subject of prompts that do not name one."""
_MOST_BYTES = 64_000_000
_KEYS = {"prompt", "messages", "subject", "system", "id"}
_HINT = 'Each line should be a JSON object such as {"prompt": "...", "subject": "code"}.'


@dataclass(frozen=True, slots=True)
class BenchPrompt:
    """One thing to ask."""

    id: str
    """Unique within its set, and the same from one run to the next."""
    subject: str
    messages: tuple[Message, ...]


def shipped_prompts() -> tuple[BenchPrompt, ...]:
    """Two of each subject: code, prose, chat, json, long, copy."""
    text = (files(__name__) / "shipped.jsonl").read_text(encoding="utf-8")
    return _prompts(text, "shipped.jsonl")


def read_prompts(path: Path) -> tuple[BenchPrompt, ...]:
    """The prompts in a file. Raises NotFoundError, or InputError that names the line."""
    return _prompts(read_text(path, _MOST_BYTES), str(path))


def of_subjects(prompts: Sequence[BenchPrompt], subjects: Iterable[str]) -> tuple[BenchPrompt, ...]:
    """Those of certain subjects, or all if none is named. Raises UsageError for one that is not there."""
    wanted = set(subjects)
    known = list(dict.fromkeys(prompt.subject for prompt in prompts))
    for subject in sorted(wanted - set(known)):
        raise UsageError(f"No prompt has the subject {subject!r}.", f"There are: {', '.join(known)}.")
    return tuple(prompt for prompt in prompts if not wanted or prompt.subject in wanted)


def _prompts(text: str, source: str) -> tuple[BenchPrompt, ...]:
    # Not splitlines: a JSON string may hold line separators of Unicode as they are.
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
            said: Any = json.loads(line)
        except (ValueError, RecursionError):
            self.refuse("is not JSON")
        if not isinstance(said, dict):
            self.refuse("is not a JSON object")
        for key in said:
            if key not in _KEYS:
                self.refuse(f"has {key!r}, which is none of {', '.join(sorted(_KEYS))}")
        if ("prompt" in said) == ("messages" in said):
            self.refuse("should have either 'prompt' or 'messages'")
        messages = self._conversation(said) if "messages" in said else self._question(said)
        subject = self._text(said, "subject", NO_SUBJECT)
        return BenchPrompt(self._text(said, "id", f"{subject}-{self.number}"), subject, messages)

    def _question(self, said: dict[str, Any]) -> tuple[Message, ...]:
        question = Message(Role.USER, self._text(said, "prompt"))
        system = self._text(said, "system") if "system" in said else None
        return (Message(Role.SYSTEM, system), question) if system else (question,)

    def _conversation(self, said: dict[str, Any]) -> tuple[Message, ...]:
        if "system" in said:
            self.refuse("has 'system' beside 'messages', where it belongs as a message")
        listed = said["messages"]
        if not isinstance(listed, list) or not listed:
            self.refuse("should have a list of messages under 'messages'")
        messages = tuple(map(self._message, listed))
        if messages[-1].role is not Role.USER:
            self.refuse("should end with a message of the role 'user'")
        return messages

    def _message(self, said: object) -> Message:
        if not isinstance(said, dict) or said.keys() != {"role", "content"} or said["role"] not in set(Role):
            self.refuse("has a message that is not {'role': 'system', 'user' or 'assistant', 'content': '...'}")
        return Message(Role(said["role"]), self._text(said, "content"))

    def _text(self, said: dict[str, Any], key: str, default: str | None = None) -> str:
        text = said.get(key, default)
        if not isinstance(text, str) or not text.strip():
            self.refuse(f"should have text under {key!r}")
        try:
            text.encode()
        except UnicodeEncodeError:
            self.refuse(f"has half a character under {key!r}")
        return text
