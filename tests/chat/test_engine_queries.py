"""A race and looks into replies share the engine, and the race goes first."""

from __future__ import annotations

from functools import partial
from itertools import count

from localspec.chat.engine_queries import EngineQueries
from localspec.chat.race import Race
from localspec.engine.events import Finished, FinishReason
from localspec.engine.inspection import Inspection, Opinion
from localspec.engine.tally import Tally
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.worker.messages import Cancel, Dropped, Failed, Generate, Inspect, Inspected, Request
from tests.chat.test_token_queries import PAIR, Answered


def engine_queries() -> tuple[EngineQueries, list[Request], Race]:
    sent: list[Request] = []
    new_id = partial(next, count(1))
    made = EngineQueries(sent.append, new_id)
    made.token_queries.pair = PAIR
    return made, sent, Race(sent.append, new_id, "Hello", ReplyOptions(), 1)


def finish(made: EngineQueries, sent: list[Request]) -> None:
    """The run under way is over."""
    request = sent[-1]
    assert isinstance(request, Generate)
    made.hear(request.request_id, Finished(FinishReason.STOP, "", Tally().timings()))


def test_looks_wait_until_both_runs_of_a_race_are_over() -> None:
    made, sent, race = engine_queries()
    made.token_queries.inspect(Answered().grow(3), 1)
    made.begin(race)
    for _ in range(2):
        made.ask()
        assert made.racing
        assert made.pending(idle=False)
        finish(made, sent)
    assert not made.racing
    made.ask()
    assert [type(request) for request in sent] == [Generate, Generate, Inspect]


def test_a_race_cuts_a_look_short_and_it_is_asked_again() -> None:
    made, sent, race = engine_queries()
    subject = Answered().grow(3)
    made.token_queries.inspect(subject, 1)
    made.ask()
    made.begin(race)
    assert [type(request) for request in sent] == [Inspect, Cancel, Generate]
    assert made.token_queries.receive(Dropped(1)) is subject
    finish(made, sent)
    finish(made, sent)
    assert not made.pending(idle=False)
    assert made.pending(idle=True)
    made.ask()
    looked = sent[-1]
    assert isinstance(looked, Inspect)
    opinion = Opinion(0.5, 1, 0.5, ())
    assert made.token_queries.receive(Inspected(looked.request_id, Inspection(1, opinion, None))) is subject
    assert not made.pending(idle=True)


def test_a_failure_is_the_races_only_while_that_run_is_under_way() -> None:
    made, _, race = engine_queries()
    assert not made.fail(Failed(1, 8, "It broke.", "Try again."))
    made.begin(race)
    assert not made.fail(Failed(99, 8, "Something else broke.", ""))
    assert made.fail(Failed(race.speculative.request_id, 8, "It broke.", "Try again."))
    assert not made.racing
    assert race.failure == "It broke. Try again."
