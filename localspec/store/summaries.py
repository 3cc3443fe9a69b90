"""Summaries in a conversation, each in place of the turns above it.

A summary is a message of the tree under the last one that it stands for, beside what was said next, with the
role of the system. It stands for all above it, until it is deleted; nothing else changes, so that every branch
without it and every export has all turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event, Finished, FinishReason, Round
from localspec.runtime.messages import Message, Role
from localspec.store.tree import Node, Tree, chat_messages

_INTRODUCTION = "Summary of the conversation so far:"
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Recap:
    """A summary that is in force, and what it stands for."""

    node: Node
    covered: tuple[Node, ...]

    @property
    def turns_n(self) -> int:
        return len(turns(self.covered))


def turns(path: Iterable[Node]) -> list[list[Node]]:
    """Each question with what follows it up to the next; a reply that no question stands above is a turn, too."""
    found: list[list[Node]] = []
    for node in path:
        if node.role is Role.USER or not found:
            found.append([])
        found[-1].append(node)
    return found


def recap_of(tree: Tree, leaf: str | None) -> Recap | None:
    """The latest summary on the way to ``leaf``; None if there is none, or all that it stood for was deleted."""
    node = tree.summary(leaf)
    covered = tree.path(node.parent) if node is not None and node.parent is not None else ()
    return Recap(node, covered) if node is not None and covered else None


def later(path: Sequence[Node], recap: Recap | None) -> Sequence[Node]:
    """What of a path its summary does not stand for."""
    return path[len(recap.covered) :] if recap is not None else path


def messages_of(system: str | None, path: Sequence[Node], recap: Recap | None) -> list[Message]:
    """What a model is to be asked: the system prompt, the summary behind it, and what was said since."""
    if recap is not None:
        text = f"{_INTRODUCTION}\n{_THOUGHTS.sub('', recap.node.content).strip()}"
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
        if reason is not FinishReason.CANCELLED and _THOUGHTS.sub("", text).strip():
            self._store(events, self.keeps_figures)
