"""The split of a reply, while it grows, into its reasoning and its answer; the markup of calls is left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum, auto

from localspec.engine.events import Finished, Round, Started
from localspec.runtime.reasoning import TAGS


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
    """The part of the reply that the text has reached."""

    BEGIN = auto()
    TAG = auto()
    """Between the tag and the reasoning."""
    REASONING = auto()
    GAP = auto()
    """Between reasoning and answer."""
    ANSWER = auto()


class ReplySplitter:
    """Splits the text of one reply. Text that may turn out to be a tag or a call is held back until it is clear."""

    def __init__(self) -> None:
        self._state = _State.BEGIN
        self._closings: tuple[str, ...] = ()
        self._text = ""
        self._taken_n = 0
        """Characters of the text that are told, or left out."""
        self._answer_at = 0

    @property
    def reasoning_n(self) -> int:
        """Characters of the reply before its answer: the reasoning, its tags and the white space around them."""
        return self._answer_at if self._state in (_State.BEGIN, _State.ANSWER) else len(self._text)

    def begin(self, event: Started) -> None:
        """Take in the beginning of the reply."""
        if event.reasons:
            self._state, self._closings = _State.TAG, tuple(filter(None, TAGS.values()))

    def receive(self, event: Round) -> Iterator[Part]:
        """The pieces that a round makes certain."""
        self._text += "".join(token.text for token in event.tokens)
        yield from self._told(len(self._text) - event.held_n)

    def end(self, event: Finished) -> Iterator[Part]:
        """The rest of the reply, but for the text of its calls."""
        end = len(self._text) if event.said_n is None else event.said_n
        yield from self._told(end)
        rest = self._text[self._taken_n : end]
        if self._state is _State.REASONING:
            yield from _part(PartKind.REASONING, rest.rstrip())
        elif self._state in (_State.BEGIN, _State.ANSWER):
            yield from _part(PartKind.ANSWER, rest)

    def _told(self, end: int) -> Iterator[Part]:
        """The pieces of the text before ``end``, as far as their kind is certain."""
        if self._state is _State.BEGIN:
            self._begin(end)
        if self._state in (_State.TAG, _State.REASONING):
            yield from self._reasoning(end)
        if self._state is _State.GAP and self._skip_space(end):
            self._state, self._answer_at = _State.ANSWER, self._taken_n
        if self._state is _State.ANSWER and end > self._taken_n:
            begin, self._taken_n = self._taken_n, end
            yield from _part(PartKind.ANSWER, self._text[begin:end])

    def _begin(self, end: int) -> None:
        """Leave the state if enough is there."""
        begun = self._text[:end].lstrip()
        opened = next((tag for tag in TAGS if begun.startswith(tag)), None)
        if opened is not None:
            self._state, self._closings = _State.TAG, (TAGS[opened],)
            self._taken_n = end - len(begun) + len(opened)
        elif begun and not any(tag.startswith(begun) for tag in TAGS):
            self._state = _State.ANSWER

    def _skip_space(self, end: int) -> bool:
        """True if there is text before ``end`` that is no white space, which is left out."""
        rest = self._text[self._taken_n : end].lstrip()
        self._taken_n = end - len(rest)
        return bool(rest)

    def _reasoning(self, end: int) -> Iterator[Part]:
        if self._state is _State.TAG and not self._skip_space(end):
            return
        self._state = _State.REASONING
        text = self._text[self._taken_n : end]
        found = [(text.index(closing), closing) for closing in self._closings if closing in text]
        if found:
            at, closing = min(found)
            self._state = _State.GAP
            self._taken_n += at + len(closing)
            text = text[:at].rstrip()
        else:
            text = text[: len(text) - max(_begun_n(text, closing) for closing in self._closings)].rstrip()
            self._taken_n += len(text)
        yield from _part(PartKind.REASONING, text)


def _part(kind: PartKind, text: str) -> Iterator[Part]:
    if text:
        yield Part(kind, text)


def _begun_n(text: str, whole: str) -> int:
    """The length of the longest end of ``text`` that ``whole`` begins with."""
    return next((n for n in range(len(whole) - 1, 0, -1) if text.endswith(whole[:n])), 0)
