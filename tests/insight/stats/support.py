"""Stores full of replies that nobody had to wait for."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from localspec.engine.events import Finished, FinishReason, Origin, Proposal, Round, Started, Token
from localspec.engine.settings import Sampling
from localspec.engine.tally import Tally
from localspec.runtime.messages import ReplyOptions, Role
from localspec.store import (
    ConversationDocument,
    Heading,
    ModelFileRecord,
    Node,
    ReplyMetadata,
    ReplyPart,
    ReplyState,
    Store,
)
from localspec.store.documents import MessageDocument

START = datetime(2026, 11, 1, 9, tzinfo=UTC)
TEXTS = {
    "code": "```python\nprint(1)\n```\n",
    "json": '{"answer": [1, 2]}',
    "list": "- one\n- two\n- three\n",
    "prose": "The sea is blue because water takes the red out of the light that falls into it from above, they say. ",
}
ACCEPTANCE = {"code": 0.75, "json": 0.85, "list": 0.6, "prose": 0.5}


@dataclass(frozen=True, slots=True)
class Kind:
    """What replies are made with."""

    pair: str | None = "a-pair"
    draft_bytes: int = 100
    factor: float = 1.0
    """Of the acceptance that the subject has."""
    temperature: float = 0.8
    verify_s: float = 0.02
    rounds_n: int = 8
    drafter: str = "draft"
    divergence: float = 0.4
    """Of draft and target, where half is accepted about 0.7 of it."""


def part_of(rng: random.Random, kind: Kind, subject: str) -> tuple[str, ReplyPart]:
    """A reply, and how it came about: as noisy as replies are."""
    rate = min(max(rng.gauss(ACCEPTANCE[subject] * kind.factor, 0.1), 0.0), 1.0)
    rounds = tuple(_round(rng, index, rate, kind) for index in range(kind.rounds_n))
    text = TEXTS[subject]
    first = replace(rounds[0], tokens=(replace(rounds[0].tokens[0], text=text), *rounds[0].tokens[1:]))
    rounds = (first, *rounds[1:])
    tally = Tally(plain_per_second=40.0, prompt_n=100, prompt_s=rng.uniform(0.05, 0.5))
    for round_ in rounds:
        tally.add(round_)
    return text, ReplyPart(
        about_of(kind),
        ReplyState.DONE,
        started=Started(rng.choice((100, 700, 5000)), 0, 7),
        rounds=rounds,
        finished=Finished(FinishReason.STOP, "", tally.timings()),
    )


def about_of(kind: Kind) -> ReplyMetadata:
    """What replies of this kind are made with."""
    draft = ModelFileRecord("draft.gguf", size_bytes=kind.draft_bytes)
    options = ReplyOptions(Sampling(temperature=kind.temperature))
    return ReplyMetadata(options, ModelFileRecord("target.gguf", size_bytes=1000), draft, kind.pair, 40.0)


def _round(rng: random.Random, index: int, rate: float, kind: Kind) -> Round:
    depth = 4
    accepted_n = next((n for n in range(depth) if rng.random() >= rate), depth)
    last = index == kind.rounds_n - 1
    tokens = [Token(10 + n, "", Origin.ACCEPTED, kind.drafter) for n in range(accepted_n)]
    thrown = tuple(Proposal(50 + n, "no", kind.drafter) for n in range(depth - accepted_n))
    return Round(
        index=index,
        drafter=kind.drafter,
        depth=depth,
        tokens=(*tokens, Token(5, "", Origin.CORRECTED if thrown else Origin.BONUS)),
        rejected=() if last else thrown,
        ignored=thrown if last else (),
        draft_s=0.004,
        verify_s=kind.verify_s * rng.uniform(0.95, 1.05),
        total_s=kind.verify_s * 1.05 + 0.005,
        why="as many as pay",
        divergence=round(kind.divergence * (1.2 - rate), 3) if index % 4 == 0 else None,
    )


def conversation(
    kinds: Iterable[Kind], *, seed: int = 1, start: datetime = START, apart: timedelta = timedelta(hours=3)
) -> ConversationDocument:
    """A question and a reply for each."""
    rng = random.Random(seed)
    name = f"{seed:08x}"
    messages = tuple(_messages(rng, name, kinds, start, apart))
    leaf = messages[-1].node.id if messages else None
    return ConversationDocument(Heading(f"{name}{0:08x}", start, start, "A talk", leaf=leaf), messages)


def _messages(
    rng: random.Random, name: str, kinds: Iterable[Kind], start: datetime, apart: timedelta
) -> Iterator[MessageDocument]:
    ids = (f"{name}{n:08x}" for n in itertools.count(1))
    leaf: str | None = None
    for number, kind in enumerate(kinds):
        at = start + number * apart
        question = Node(next(ids), leaf, Role.USER, f"Question {number}", at)
        text, part = part_of(rng, kind, rng.choice(list(TEXTS)))
        answer = Node(next(ids), question.id, Role.ASSISTANT, text, at, state=ReplyState.DONE)
        leaf = answer.id
        yield MessageDocument(question)
        yield MessageDocument(answer, (part,))


def fill(store: Store, *kinds: Kind, seed: int = 1, apart: timedelta = timedelta(hours=3)) -> ConversationDocument:
    """Put a reply for each kind into the store."""
    document = conversation(kinds, seed=seed, apart=apart)
    store.add([document])
    return document


def open_filled(path: Path, *fills: tuple[Kind, ...]) -> Store:
    """A store with a reply for each kind, a conversation a fill with seeds from 1 on; its file is made once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_filled(fills))
    return Store.open(path)


@cache
def _filled(fills: tuple[tuple[Kind, ...], ...]) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "history.db"
        store = Store.open(path)
        for seed, kinds in enumerate(fills, start=1):
            fill(store, *kinds, seed=seed)
        store.close()
        return path.read_bytes()
