"""Replies that are made with an observer and recorded, as the chat does it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from localspec.base.errors import LocalSpecError
from localspec.engine.events import Event
from localspec.insight.observers import News, Observer
from localspec.store import ReplyMetadata, Store
from tests.insight.stats.support import TEXTS, Kind, about_of, part_of


def make(
    store: Store, observer: Observer, about: ReplyMetadata, events: Iterable[Event], error: LocalSpecError | None
) -> None:
    """One reply, or what came of it until ``error``."""
    thread = store.begin()
    thread.ask("?")
    recorder = thread.begin_reply(about)
    follows = observer.begin(about, recorder.node.id)
    for event in events:
        recorder.receive(event)
        follows.receive(event)
    if error is not None:
        recorder.fail(error)
        follows.fail(error)


def live(store: Store, observer: Observer, kinds: Sequence[Kind], seed: int = 1) -> list[tuple[int, News]]:
    """A reply of each kind; the news, each with the number of replies after which it came."""
    rng = random.Random(seed)
    heard: list[tuple[int, News]] = []
    for n, kind in enumerate(kinds, 1):
        _, part = part_of(rng, kind, rng.choice(list(TEXTS)))
        assert part.started is not None
        assert part.finished is not None
        make(store, observer, about_of(kind), [part.started, *part.rounds, part.finished], None)
        heard += [(n, news) for news in observer.news(30.0)]
    return heard
