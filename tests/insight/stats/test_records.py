"""One pass over the store has exactly what each conversation has."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings

from localspec.base.errors import EngineError
from localspec.engine.events import FinishReason, Round
from localspec.engine.tally import Tally
from localspec.store import RecordFilter, ReplyRecord, ReplyState, Store, provenance, records
from tests.insight.stats.support import START, Kind, fill
from tests.store.strategies import ROUNDS
from tests.store.support import ABOUT, converse, events

EVERYTHING = RecordFilter(texts=True, rounds=True)


def naive(store: Store) -> list[tuple[object, ...]]:
    """From whole documents."""
    found = []
    for summary in store.conversations():
        for message in store.document(summary.heading.id).messages:
            for part in message.parts:
                assert part.finished is not None
                ttft_s = part.finished.timings.prompt_ms / 1e3 + part.rounds[0].total_s
                found.append((message.node.id, message.node.created, part.about, part.finished.timings, ttft_s))
    return sorted(found, key=lambda row: str(row[0]))


def seen(runs: list[ReplyRecord]) -> list[tuple[object, ...]]:
    return sorted(
        ((run.message, run.at, run.about, run.timings, run.ttft_s) for run in runs), key=lambda row: str(row[0])
    )


def test_a_pass_has_what_documents_have(mixed: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows are read at a time, and whatever else is asked for."""
    wanted = naive(mixed)
    assert len(wanted) == 75
    for page_n in (1, 7, 75, 500):
        monkeypatch.setattr(records, "PAGE_N", page_n)
        assert seen(list(mixed.runs())) == wanted
    runs = list(mixed.runs(where=EVERYTHING))
    assert seen(runs) == wanted
    assert all("".join(token.text for round_ in run.rounds for token in round_.tokens) == run.text for run in runs)


@settings(max_examples=40)
@given(ROUNDS)
def test_the_first_round_is_the_first(rounds: list[Round]) -> None:
    """However long what stands before it."""
    stored = provenance.record([provenance.frame(rounds), provenance.frame(rounds)])
    all_of_them = provenance.rounds_of(stored, "")
    assert provenance.first_round_s(stored) == (all_of_them[0].total_s if all_of_them else None)


def test_a_long_reason_hides_no_round(store: Store) -> None:
    """What is unpacked first may end within the strings of a frame."""
    first = [each for each in events("a b") if isinstance(each, Round)]
    long = [replace(first[0], why="".join(map(chr, range(200, 9000))))]
    stored = provenance.record([provenance.frame(long)])
    assert provenance.first_round_s(stored) == provenance.rounds_of(stored, "")[0].total_s
    with pytest.raises(ValueError, match="version"):
        provenance.first_round_s(b"\x07")


def test_what_is_deleted_no_longer_counts(mixed: Store) -> None:
    """A conversation or a turn; restoring brings the figures back."""
    first, second = mixed.conversations()
    n = len(list(mixed.runs()))
    mixed.delete(first.heading.id)
    rest = len(list(mixed.runs()))
    assert 0 < rest < n
    thread = mixed.open_conversation(second.heading.id)
    gone = thread.delete(thread.path[-1].id)
    assert len(list(mixed.runs())) == rest - 1
    thread.restore(gone[0].id)
    mixed.restore(first.heading.id)
    assert len(list(mixed.runs())) == n


def test_since_and_after(mixed: Store) -> None:
    """Both leave out exactly what came before."""
    runs = list(mixed.runs())
    moment = START + timedelta(days=3)
    assert [run.place for run in mixed.runs(since=moment)] == [run.place for run in runs if run.at >= moment]
    assert list(mixed.runs(runs[30].place)) == runs[31:]


def test_replies_that_did_not_finish(store: Store) -> None:
    """Their figures are added up from the rounds there are; without a round there is nothing to count."""
    thread = store.begin()
    thread.ask("Why?")
    failing = thread.begin_reply(ABOUT)
    for event in events("one two", "three")[:-1]:
        failing.receive(event)
    failing.fail(EngineError("It stopped."))
    thread.begin_reply(ABOUT, under=thread.path[0].id).fail(EngineError("At once."))
    (run,) = store.runs(where=EVERYTHING)
    tally = Tally(plain_per_second=ABOUT.plain_per_second)
    for round_ in run.rounds:
        tally.add(round_)
    assert (run.state, run.reason, run.ttft_s) == (ReplyState.FAILED, None, None)
    assert run.timings == tally.timings()
    assert run.timings.predicted_n == 3


def test_what_goes_on_is_not_missed(store: Store) -> None:
    """A pass that is to be gone on with ends before it; one that is not passes over it."""
    converse(store, ("a", "b c"))
    thread = store.begin()
    thread.ask("Why?")
    growing = thread.begin_reply(ABOUT)
    converse(store, ("d", "e f g"))
    assert len(list(store.runs())) == 2
    (first,) = store.runs(where=RecordFilter(settled=True))
    for event in events("h"):
        growing.receive(event)
    rest = list(store.runs(first.place, where=RecordFilter(settled=True)))
    assert [run.timings.predicted_n for run in rest] == [1, 3]
    again = thread.continue_reply(growing.node.id, ABOUT)
    for event in events("i j k l"):
        again.receive(event)
    (continued,) = store.runs(rest[-1].place, where=EVERYTHING)
    assert (continued.message, continued.text) == (growing.node.id, "i j k l ")


def test_what_cannot_be_read_is_passed_over(store: Store) -> None:
    """One bad record takes no other with it."""
    fill(store, *[Kind()] * 5)
    with store._database.transaction() as connection:
        connection.execute("UPDATE reply SET about = '[1]' WHERE rowid = 1")
        connection.execute("UPDATE reply SET rounds = x'01ff', finished = NULL WHERE rowid = 2")
        for figure, wrong, place in (("draft_n", "'x'", 3), ("predicted_per_second", "1e999", 4)):
            changed = f"json_set(finished, '$.timings.{figure}', {wrong})"
            connection.execute(f"UPDATE reply SET finished = {changed} WHERE rowid = {place}")
    assert [run.place for run in store.runs(where=EVERYTHING)] == [5]


def test_figures_are_not_kept_if_not_wanted(store: Store) -> None:
    """The text is, with how it ended, before and after the end."""
    thread = store.begin()
    thread.ask("Why?")
    recorder = thread.begin_reply(ABOUT)
    recorder.keeps_figures = False
    *most, last = events("one two", "three")
    for event in most:
        recorder.receive(event)
    recorder.flush()
    recorder.receive(last)
    stored = thread.reply(recorder.node.id)
    assert stored is not None
    assert (stored.text, stored.parts[-1].state, stored.tokens) == ("one two three ", ReplyState.DONE, ())
    assert stored.to_reply().finished is FinishReason.STOP
    assert stored.parts[0].started is None
    assert list(store.runs(where=EVERYTHING)) == []
