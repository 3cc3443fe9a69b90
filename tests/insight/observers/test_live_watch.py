"""The watch in a chat comes to what the watch over the store comes to, and keeps nobody waiting."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from localspec.base.errors import EngineError
from localspec.insight.observers.live_watch import LiveWatch
from localspec.insight.stats.drift_watch import DriftWatch
from localspec.insight.stats.objectives import Objectives
from localspec.store import RecordFilter, ReplyRecord, Store
from tests.insight.observers.support import live, make
from tests.insight.stats.support import Kind, about_of, fill, part_of

USUAL = Kind(rounds_n=40)
UNTRAINED = replace(USUAL, factor=0.05, draft_bytes=101)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "history.db")


def offline(store: Store) -> list[str]:
    watch, runs = DriftWatch(), store.runs(where=RecordFilter(texts=True))
    return [notice.text for run in runs for notice in watch.receive(run)]


def test_a_planted_drop_is_told_within_ten_replies_and_as_offline(store: Store) -> None:
    """Forty replies are on record from before; then the draft is replaced by an untrained one."""
    fill(store, *[USUAL] * 40)
    watch = LiveWatch(store)
    heard = live(store, watch, [UNTRAINED] * 10, seed=2)
    watch.close()
    assert [news.text for _, news in heard] == offline(store) != []
    assert all("the draft changed" in news.text and "a-pair" in news.line for _, news in heard)
    assert heard[0][1].line.endswith("/stats says why.")
    store.close()


def test_nothing_is_told_where_nothing_changed(store: Store) -> None:
    watch = LiveWatch(store)
    assert live(store, watch, [USUAL] * 30) == []
    watch.close()
    store.close()


def test_what_happened_before_is_no_news(store: Store) -> None:
    """A drop that others have seen counts as the baseline, and is not told again."""
    fill(store, *[USUAL] * 40, *[UNTRAINED] * 20)
    assert offline(store)
    watch = LiveWatch(store)
    assert live(store, watch, [UNTRAINED] * 3) == []
    watch.close()
    store.close()


def test_a_missed_objective_is_told_once_a_day(store: Store) -> None:
    """With what was wanted, and on how many replies it rests; another one that is set later as well."""
    watch = LiveWatch(store, Objectives(min_speedup=50.0))
    heard = live(store, watch, [USUAL] * 3)
    assert [n for n, _ in heard] == [1]
    assert "median speed-up is" in heard[0][1].line
    assert "at least 50" in heard[0][1].line
    assert heard[0][1].text.endswith("(1 reply).")
    watch.objectives = Objectives(ttft_p95_s=1e-6)
    heard = live(store, watch, [USUAL] * 2)
    assert [("p95" in news.line, n) for n, news in heard] == [(True, 1)]
    watch.close()
    store.close()


def test_an_objective_that_is_met_is_no_news(store: Store) -> None:
    watch = LiveWatch(store, Objectives(ttft_p95_s=60.0, min_speedup=0.01))
    assert live(store, watch, [USUAL] * 3) == []
    watch.close()
    store.close()


def test_a_reply_that_broke_off_is_judged_too(store: Store) -> None:
    """As far as it came, as offline."""
    watch = LiveWatch(store, Objectives(min_speedup=50.0))
    _, part = part_of(random.Random(1), USUAL, "prose")
    make(store, watch, about_of(USUAL), part.rounds, EngineError("It stopped."))
    assert len(watch.news(30.0)) == 1
    watch.close()
    store.close()


def test_nothing_is_read_before_a_reply_has_ended(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is on record, neither the start nor the first reply waits for it; nor does leaving."""
    fill(store, *[USUAL] * 30)
    reads: list[int] = []

    def reading(*_: object, **__: object) -> Iterator[ReplyRecord]:
        reads.append(1)
        yield from ()

    monkeypatch.setattr(Store, "runs", reading)
    watch = LiveWatch(store)
    begun = watch.begin(about_of(USUAL), "a")
    assert watch.wait(0.0)
    assert not reads
    begun.fail(EngineError("It stopped."))
    assert watch.wait(30.0)
    assert reads == [1]
    watch.close()
    watch.begin(about_of(USUAL), "b").fail(EngineError("It stopped."))
    assert reads == [1]
    store.close()


def test_the_bell_rings_for_news_alone(store: Store) -> None:
    rung = Event()
    fill(store, *[USUAL] * 40)
    watch = LiveWatch(store, Objectives(min_speedup=0.01))
    watch.listen(rung.set)
    live(store, watch, [USUAL])
    assert not rung.is_set()
    watch.objectives = Objectives(min_speedup=50.0)
    live(store, watch, [USUAL])
    assert rung.wait(30.0)
    watch.close()
    store.close()


def test_a_store_that_cannot_be_read_is_no_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next reply tries again, and misses nothing."""
    from localspec.base.errors import StoreError

    def refuse(*_: object, **__: object) -> None:
        raise StoreError("The file is in use.")

    watch = LiveWatch(store, Objectives(min_speedup=50.0))
    with monkeypatch.context() as broken:
        broken.setattr(Store, "runs", refuse)
        assert live(store, watch, [USUAL]) == []
    heard = live(store, watch, [USUAL])
    assert heard[0][1].text.endswith("(2 replies).")
    watch.close()
    store.close()
