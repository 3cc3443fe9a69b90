"""Prompts drawn from the user's history, for a benchmark of their own work."""

from __future__ import annotations

import random
from collections.abc import Iterator

from localspec.base.errors import NotFoundError
from localspec.insight.prompt_sets import NO_SUBJECT, BenchPrompt
from localspec.insight.stats.subjects import subject_of
from localspec.runtime.messages import Message, Role
from localspec.store import Heading, Node, Store

LONGEST_CHARS = 6000
"""Questions after a longer conversation are skipped: reading it would take longer than the reply."""


def drawn_prompts(store: Store, n: int, seed: int) -> tuple[BenchPrompt, ...]:
    """``n`` random questions with the messages before them, or all if there are fewer; deterministic for a seed.

    The subject of a question is that of its shown reply, and its id that of its message. Raises NotFoundError if there
    are none, and StoreError.
    """
    found = {prompt.id: prompt for summary in store.conversations() for prompt in _of(store, summary.heading)}
    if not found:
        raise NotFoundError("There are no questions in the history to draw from.", "Leave --from-history out.")
    ids = sorted(found)
    chosen = random.Random(seed).sample(ids, min(n, len(ids)))
    return tuple(found[each] for each in chosen)


def _of(store: Store, heading: Heading) -> Iterator[BenchPrompt]:
    """The questions on the shown path of a conversation."""
    path = store.open_conversation(heading.id).path
    messages = [Message(Role.SYSTEM, heading.system)] if heading.system else []
    chars_n = sum(len(message.content) for message in messages)
    for place, node in enumerate(path):
        if node.role is Role.TOOL:
            continue
        messages.append(Message(node.role, node.content))
        chars_n += len(node.content)
        if chars_n > LONGEST_CHARS:
            return
        if node.role is Role.USER and node.content.strip():
            yield BenchPrompt(node.id, _subject(path[place + 1 : place + 2]), tuple(messages))


def _subject(reply: tuple[Node, ...]) -> str:
    return str(subject_of(reply[0].content)) if reply and reply[0].content else NO_SUBJECT
