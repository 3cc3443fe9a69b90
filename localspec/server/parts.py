"""A reply told apart while it grows: its reasoning, and its answer without the text of calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum, auto

from localspec.engine.events import Finished, Round, ToolCall
from localspec.runtime.calls.prompt import said
from localspec.runtime.calls.syntax import SYNTAXES
from localspec.runtime.reasoning import NAMES

_TAGS = {f"<{name}>": f"</{name}>" for name in NAMES.split("|")} | {"[THINK]": "[/THINK]"}
"""What opens reasoning, and what closes it."""
_CALLS = (
    *("<function=", "<invoke name=", "<｜DSML｜", " to=functions."),
    *(marker for syntax in SYNTAXES for marker in syntax.markers if marker not in (*syntax.reasoning, syntax.quote)),
)
"""Texts that a call may begin with."""
_CHANNEL = "<|channel|>"
"""Written by gpt-oss in replies that may make calls."""


class PartKind(StrEnum):
    """The kinds of text in a reply."""

    REASONING = "reasoning"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a reply's text."""

    kind: PartKind
    text: str
    """Never empty."""


class _State(StrEnum):
    """The place that the text held back is in."""

    BEGIN = auto()
    REASONING = auto()
    GAP = auto()
    """Between reasoning and answer."""
    ANSWER = auto()


class ReplySplitter:
    """Splits the text of one reply. Text that may turn out to be a tag or a call is held back until it is clear."""

    def __init__(self, *, tools: bool) -> None:
        """``tools`` is True if the reply may make calls."""
        self._tools = tools
        self._state = _State.BEGIN
        self._closing = ""
        self._held = ""
        self._answer = ""

    def receive(self, event: Round) -> Iterator[Part]:
        """The pieces that a round makes certain."""
        self._held += "".join(token.text for token in event.tokens)
        if self._state is _State.BEGIN:
            self._begin()
        if self._state is _State.REASONING:
            yield from self._reasoning()
        if self._state is _State.GAP and (answer := self._held.lstrip()):
            self._state, self._held = _State.ANSWER, answer
        if self._state is _State.ANSWER:
            yield from self._part(PartKind.ANSWER, self._certain_answer())

    def end(self, event: Finished) -> Iterator[Part]:
        """The rest of the reply, but for the text of its calls."""
        rest, self._held = self._held, ""
        if self._state is _State.REASONING:
            yield from self._part(PartKind.REASONING, rest.rstrip())
            return
        if event.calls or (self._tools and _CHANNEL in rest):
            rest = _without_calls(self._answer + rest, event.calls)[len(self._answer) :]
        yield from self._part(PartKind.ANSWER, "" if self._state is _State.GAP else rest)

    def _part(self, kind: PartKind, text: str) -> Iterator[Part]:
        if text:
            self._answer += text if kind is PartKind.ANSWER else ""
            yield Part(kind, text)

    def _begin(self) -> None:
        """Leave the state if enough is there."""
        begun = self._held.lstrip()
        opened = next((tag for tag in _TAGS if begun.startswith(tag)), None)
        if opened is not None:
            if text := begun[len(opened) :].lstrip():
                self._state, self._closing, self._held = _State.REASONING, _TAGS[opened], text
        elif begun and not any(tag.startswith(begun) for tag in _TAGS):
            self._state = _State.ANSWER

    def _reasoning(self) -> Iterator[Part]:
        text, closing, rest = self._held.partition(self._closing)
        if not closing:
            text = text[: len(text) - _begun_n(text, (self._closing,))]
        text = text.rstrip()
        if closing:
            self._state, self._held = _State.GAP, rest
        else:
            self._held = self._held[len(text) :]
        yield from self._part(PartKind.REASONING, text)

    def _certain_answer(self) -> str:
        """The text held back that belongs to the answer, whatever follows; the rest stays."""
        text = self._held
        if self._tools:
            begins = [at for at in (text.find(call) for call in _CALLS) if at >= 0]
            text = text[: min(begins)] if begins else text[: len(text) - _begun_n(text, _CALLS)]
            # A call of Llama 3 is all of the answer, and nothing but its end tells.
            text = "" if not self._answer and text.lstrip()[:1] in ("", "{") else text.rstrip()
        self._held = self._held[len(text) :]
        return text


def _begun_n(text: str, wholes: Sequence[str]) -> int:
    """The length of the longest end of ``text`` that one of ``wholes`` begins with."""
    longest = max(map(len, wholes))
    ends = range(min(longest - 1, len(text)), 0, -1)
    return next((n for n in ends if any(whole.startswith(text[-n:]) for whole in wholes)), 0)


def _without_calls(answer: str, calls: Sequence[ToolCall]) -> str:
    """The text before the calls, without channels."""
    return min((said(answer, calls, syntax) for syntax in SYNTAXES), key=len)
