"""Stores with a clock that is told what time it is, and replies to put in them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from localspec.base.errors import EngineError
from localspec.engine.events import (
    Event,
    Finished,
    FinishReason,
    Origin,
    Proposal,
    Round,
    Started,
    Token,
)
from localspec.engine.tally import Tally
from localspec.runtime.messages import ReplyOptions
from localspec.store import ModelFileRecord, ReplyMetadata, Store, StoredConversation
from localspec.store.documents import ConversationDocument

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
ABOUT = ReplyMetadata(ReplyOptions(seed=7), ModelFileRecord("target.gguf", "ab" * 32, 10), None, "builtin", 100.0)


@dataclass(slots=True)
class FakeTime:
    """A second passes with every look at the clock; ``seconds`` is moved by hand."""

    seconds: float = 0.0
    looks: Iterator[int] = field(default_factory=itertools.count)

    def now(self) -> datetime:
        return START + timedelta(seconds=next(self.looks))

    def monotonic(self) -> float:
        return self.seconds


def open_store(path: Path, time: FakeTime | None = None, *, first_id: int = 0, busy_s: float = 0.0) -> Store:
    """A store whose ids count up."""
    time = time or FakeTime()
    ids = map("{:016x}".format, itertools.count(first_id))
    return Store.open(path, busy_s=busy_s, clock=time.now, monotonic=time.monotonic, ids=lambda: next(ids))


def round_of(index: int, texts: Sequence[str], drafter: str | None = "draft") -> Round:
    """The last token is the target's own."""
    last = Origin.PLAIN if drafter is None else Origin.CORRECTED
    tokens = [Token(10 + n, text, Origin.ACCEPTED, drafter) for n, text in enumerate(texts[:-1])]
    rejected = () if drafter is None else (Proposal(99, "no", drafter),)
    return Round(
        index=index,
        drafter=drafter,
        depth=len(texts),
        tokens=(*tokens, Token(5, texts[-1], last)),
        rejected=rejected,
        ignored=(),
        draft_s=0.001,
        verify_s=0.02,
        total_s=0.0215,
        why="as many as there may be",
    )


def events(*texts: str, seed: int = 7) -> list[Event]:
    """A reply of one round a text, a token a word."""
    rounds = [round_of(n, [f"{word} " for word in text.split()] or [text]) for n, text in enumerate(texts)]
    tally = Tally(plain_per_second=100.0)
    for round_ in rounds:
        tally.add(round_)
    text = "".join(token.text for round_ in rounds for token in round_.tokens)
    return [Started(12, 4, seed), *rounds, Finished(FinishReason.STOP, text, tally.timings())]


def converse(store: Store, *turns: tuple[str, str], system: str | None = None) -> StoredConversation:
    """Questions and their replies."""
    thread = store.begin(system)
    for question, reply in turns:
        thread.ask(question)
        recorder = thread.begin_reply(ABOUT)
        for event in events(reply):
            recorder.receive(event)
    return thread


def branched(store: Store) -> StoredConversation:
    """A conversation with an edited question, a second reply, a continued one and a deleted turn."""
    thread = converse(store, ("Why is the sky blue?", "Because of scattering."), ("And at night?", "It is dark."))
    first, reply, second, _ = thread.path
    again = thread.begin_reply(ABOUT, under=first.id)
    for event in events("Because air scatters", "blue light."):
        again.receive(event)
    thread.edit(first.id, "Why is the sea blue?")
    thread.begin_reply(ABOUT).fail(EngineError("The engine stopped.", "Ask again."))
    more = thread.continue_reply(reply.id, ABOUT)
    for event in events("More than red."):
        more.receive(event)
    thread.choose(second.id)
    thread.delete(second.id)
    return thread


def contents(document: ConversationDocument) -> object:
    """A conversation without its ids: shape, texts, replies and all else."""
    place = {message.node.id: number for number, message in enumerate(document.messages)}
    return (
        document.heading.title,
        document.heading.system,
        document.heading.pinned,
        document.heading.created,
        document.heading.updated,
        place.get(document.heading.leaf or ""),
        [
            (place.get(m.node.parent or ""), m.node.role, m.node.content, m.node.created, m.node.deleted, m.node.state)
            for m in document.messages
        ],
        [[(p.about, p.state, p.begin, p.started, p.rounds, p.finished) for p in m.parts] for m in document.messages],
    )
