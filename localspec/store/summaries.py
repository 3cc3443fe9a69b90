"""Summaries: messages that replace the turns above them for the model.

A summary is a message of the role system under the last message that it covers, beside the next question. It covers all
above it until it is deleted. The covered messages stay, so that other branches and exports have all turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event, Finished, FinishReason, Round
from localspec.runtime.messages import Message, Role
from localspec.runtime.reasoning import Reasoning
from localspec.store.tree import Node, Tree, chat_messages

_INTRODUCTION = "Summary of the conversation so far:"


@dataclass(frozen=True, slots=True)
class Recap:
    """A summary in force, with the messages that it covers."""

    node: Node
    covered: tuple[Node, ...]

    @property
    def turns_n(self) -> int:
        return len(turns(self.covered))


def turns(path: Iterable[Node]) -> list[list[Node]]:
    """The turns of a path: each question with what follows it up to the next; replies before a question are one too."""
    found: list[list[Node]] = []
    for node in path:
        if node.role is Role.USER or not found:
            found.append([])
        found[-1].append(node)
    return found


def recap_of(tree: Tree, leaf: str | None) -> Recap | None:
    """The latest summary on the path to ``leaf``; None if there is none, or all that it covers is deleted."""
    node = tree.summary(leaf)
    covered = tree.path(node.parent) if node is not None and node.parent is not None else ()
    return Recap(node, covered) if node is not None and covered else None


def later(path: Sequence[Node], recap: Recap | None) -> Sequence[Node]:
    """The messages of a path that its summary does not cover."""
    return path[len(recap.covered) :] if recap is not None else path


def messages_of(system: str | None, path: Sequence[Node], recap: Recap | None) -> list[Message]:
    """The messages for the model: the system prompt with the summary, and the messages after it."""
    if recap is not None:
        text = f"{_INTRODUCTION}\n{_answer(recap.node.content)}"
        system = f"{system}\n\n{text}" if system else text
    return chat_messages(system, later(path, recap))


class SummaryRecorder:
    """Takes the events of a summary as ``Recorder`` does those of a reply, and stores it once it is whole.

    A summary that is stopped, breaks off or says nothing leaves everything as it was.
    """

    def __init__(self, message: str, store: Callable[[Sequence[Event], bool], None]) -> None:
        """``store`` is given all events, and whether figures are to be kept with the text."""
        self.message = message
        """The id that it is stored under."""
        self.keeps_figures = True
        self._store = store
        self._events: list[Event] = []

    def receive(self, event: Event) -> None:
        self._events.append(event)
        if isinstance(event, Finished):
            self._end(event.reason)

    def fail(self, error: LocalSpecError) -> None:
        self._events.clear()

    def tick(self) -> None:
        """There is nothing to write in between."""

    def _end(self, reason: FinishReason) -> None:
        events, self._events = self._events, []
        text = "".join(token.text for event in events if isinstance(event, Round) for token in event.tokens)
        if reason is not FinishReason.CANCELLED and _answer(text):
            self._store(events, self.keeps_figures)


def _answer(text: str) -> str:
    """A reply without its reasoning."""
    reasoning = Reasoning.find(text)
    return (text[reasoning.end :] if reasoning else text).strip()
