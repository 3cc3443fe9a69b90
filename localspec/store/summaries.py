"""Old turns told in short, for a context that they no longer fit into.

A summary is a message of the tree under the last one that it stands for, beside what was said next, with the
role of the system. It stands for all above it, until it is deleted; nothing else changes, so that every branch
without it and every export has all turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event, Finished, FinishReason, Round
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.store.tree import Node, Tree, chat_messages

KEPT_TURNS_N = 2
"""So many of the latest turns stay as they are, unless the reader says otherwise."""
SUMMARY_TOKENS_N = 512
"""A summary ends after this many tokens at the latest."""
REQUEST = (
    "Summarise our conversation so far in at most 200 words, so that you can go on from the summary alone: what I "
    "asked for, what was found and decided, the names, numbers and code that still matter, and what is open. "
    "Write the summary and nothing else."
)
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


@dataclass(frozen=True, slots=True)
class OldTurns:
    """Turns that can be told in short."""

    through: str
    """Id of the last message among them."""
    turns_n: int
    """Those that an earlier summary stands for are counted in."""
    asked: tuple[Message, ...]
    """What the model is to be asked for their summary; begins as the conversation does, so that little is read."""


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


def old_turns(system: str | None, path: Sequence[Node], recap: Recap | None, kept_n: int) -> OldTurns | None:
    """All turns but the last few; None if there are no more than those."""
    old = turns(later(path, recap))
    old = old[: max(0, len(old) - kept_n)]
    said = [node for turn in old for node in turn]
    if not any(node.content and node.role is Role.ASSISTANT for node in said):
        return None
    covered = recap.covered if recap is not None else ()
    asked = messages_of(system, (*covered, *said), recap)
    if asked[-1].role is Role.USER:
        asked.pop()
    before_n = recap.turns_n if recap is not None else 0
    return OldTurns(said[-1].id, before_n + len(old), (*asked, Message(Role.USER, REQUEST)))


def summary_options(options: ReplyOptions) -> ReplyOptions:
    """For a summary by who replies so otherwise: as freely chosen, but as plain text of some length."""
    sampling = replace(options.sampling, grammar=None, grammar_triggers=())
    return replace(options, sampling=sampling, stop=(), max_tokens=SUMMARY_TOKENS_N)


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
