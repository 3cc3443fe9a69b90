"""Asking about tokens that are written: in which order, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from localspec.chat.token_queries import PIECE_N, TokenQueries
from localspec.chat.tokens.inspectable_reply import InspectableReply
from localspec.chat.turn import Turn
from localspec.engine.events import FinishReason, Origin, Round, Token
from localspec.engine.inspection import Inspection, Opinion
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from localspec.runtime.worker.messages import (
    Cancel,
    Dropped,
    Failed,
    Generate,
    Inspect,
    Inspected,
    Request,
    Weigh,
    Weighed,
)

PAIR = LoadOptions(Path("target.gguf"))
QUESTION = (Message(Role.USER, "hi"),)


class Answered(Turn):
    """A turn whose reply has one round a token; the ids of the tokens are their indices."""

    def __init__(self) -> None:
        super().__init__("hi", reply=InspectableReply(finished=FinishReason.STOP))

    def grow(self, n: int, request_id: int = 1, pair: LoadOptions = PAIR) -> Answered:
        self.reply.begin(Generate(request_id, QUESTION, ReplyOptions(seed=request_id)), pair)
        first = len(self.reply.tokens)
        for index in range(first, first + n):
            self.reply.receive(Round(index, None, 0, (Token(index, "x", Origin.PLAIN),), (), (), 0.0, 0.0, 0.0))
        return self


@dataclass
class Bench:
    """Insights, and an engine that answers when it is told to."""

    sent: list[Request] = field(default_factory=list)
    token_queries: TokenQueries = field(init=False)

    def __post_init__(self) -> None:
        ids = count(100)
        self.token_queries = TokenQueries(self.sent.append, lambda: next(ids), PAIR)

    def answer(self) -> Inspect | Weigh:
        """Answer the newest request: a token is as likely as its id is high."""
        request = self.sent[-1]
        assert isinstance(request, Inspect | Weigh)
        if isinstance(request, Inspect):
            self.token_queries.receive(Inspected(request.request_id, seen(request.reply[request.position])))
        else:
            probs = tuple(token / 1000 for token in request.reply[request.start : request.stop])
            self.token_queries.receive(Weighed(request.request_id, probs))
        return request

    def run(self) -> None:
        """Ask and answer until nothing is wished for."""
        self.token_queries.ask()
        for _ in range(20):
            if self.token_queries.busy:
                self.answer()
                self.token_queries.ask()
        assert not self.token_queries.busy, "it asks for ever"


@pytest.fixture
def bench() -> Bench:
    return Bench()


def seen(token: int) -> Inspection:
    return Inspection(token, Opinion(0.5, 1, 0.5, ()), None)


def test_a_reply_is_weighed_in_pieces(bench: Bench) -> None:
    """One after the other, each with the tokens before it, until every token is weighed."""
    answered = Answered().grow(2 * PIECE_N + 5)
    bench.token_queries.weigh([answered])
    bench.run()
    asked = [request for request in bench.sent if isinstance(request, Weigh)]
    ends = [PIECE_N, 2 * PIECE_N, 2 * PIECE_N + 5]
    assert [(r.start, r.stop) for r in asked] == list(zip([0, *ends], ends, strict=False))
    assert all(r.reply == tuple(range(r.stop)) and r.prompt == QUESTION for r in asked)
    assert answered.reply.probs == [token / 1000 for token in range(2 * PIECE_N + 5)]


def test_a_look_comes_before_the_next_piece(bench: Bench) -> None:
    """And the latest look counts: what was passed over is never asked about."""
    answered = Answered().grow(3 * PIECE_N)
    bench.token_queries.weigh([answered])
    bench.token_queries.ask()
    bench.token_queries.inspect(answered, 7)
    bench.token_queries.inspect(answered, 8)
    bench.run()
    kinds = [(type(r), r.position if isinstance(r, Inspect) else None) for r in bench.sent]
    assert kinds == [(Weigh, None), (Inspect, 8), (Weigh, None), (Weigh, None)]
    assert list(answered.reply.inspections) == [8]


def test_one_request_at_a_time_and_none_twice(bench: Bench) -> None:
    """Asking again while one is under way, or about what is known, sends nothing."""
    answered = Answered().grow(3)
    bench.token_queries.inspect(answered, 1)
    bench.token_queries.ask()
    bench.token_queries.ask()
    assert len(bench.sent) == 1
    bench.run()
    bench.token_queries.inspect(answered, 1)
    bench.run()
    assert len(bench.sent) == 1


def test_the_next_message_goes_first(bench: Bench) -> None:
    """What is under way is cancelled; the wish stands and is asked again."""
    answered = Answered().grow(3)
    bench.token_queries.inspect(answered, 1)
    bench.token_queries.ask()
    bench.token_queries.withdraw()
    assert bench.sent[-1] == Cancel()
    assert bench.token_queries.receive(Dropped(100)) is answered
    bench.run()
    assert 1 in answered.reply.inspections
    bench.token_queries.withdraw()
    assert bench.sent.count(Cancel()) == 1, "there is nothing to cancel any more"


def test_a_reply_that_was_gone_on_with_is_asked_about_as_it_was_made(bench: Bench) -> None:
    """Each part with its own prompt, counted from its own beginning."""
    answered = Answered().grow(4, request_id=1).grow(3, request_id=2)
    bench.token_queries.inspect(answered, 5)
    bench.token_queries.weigh([answered])
    bench.run()
    look, first, second = bench.sent
    assert isinstance(look, Inspect)
    assert (look.options.seed, look.reply, look.position) == (2, (4, 5), 1)
    assert isinstance(first, Weigh)
    assert isinstance(second, Weigh)
    assert (first.options.seed, first.start, first.stop) == (1, 0, 4)
    assert (second.options.seed, second.reply, second.start, second.stop) == (2, (4, 5, 6), 0, 3)
    assert answered.reply.probs == [token / 1000 for token in range(7)]
    assert list(answered.reply.inspections) == [5]


def test_what_cannot_be_asked_says_why(bench: Bench) -> None:
    """A reply of another pair, one that was made earlier, and what the engine refuses."""
    foreign = Answered().grow(3, pair=LoadOptions(Path("other.gguf")))
    bench.token_queries.inspect(foreign, 1)
    assert "Another pair" in bench.token_queries.failure
    old = Answered()
    old.reply.receive(Round(0, None, 0, (Token(1, "x", Origin.PLAIN),), (), (), 0.0, 0.0, 0.0))
    bench.token_queries.inspect(old, 0)
    assert "made earlier" in bench.token_queries.failure
    bench.run()
    assert bench.sent == []
    own = Answered().grow(3)
    bench.token_queries.inspect(own, 0)
    assert bench.token_queries.failure == ""
    bench.token_queries.ask()
    bench.token_queries.receive(Failed(100, 7, "It is too long.", "Shorten it."))
    assert bench.token_queries.failure == "It is too long. Shorten it."
    bench.run()
    assert len(bench.sent) == 1, "it is not asked again by itself"


def test_a_reply_being_written_is_not_weighed(bench: Bench) -> None:
    """Heat comes when it is done."""
    writing = Answered().grow(3)
    writing.reply.finished = None
    bench.token_queries.weigh([writing])
    bench.run()
    assert bench.sent == []


def test_answers_to_others_are_left_alone(bench: Bench) -> None:
    """Numbers are the session's, and a reply's failure is not ours."""
    answered = Answered().grow(3)
    bench.token_queries.inspect(answered, 1)
    bench.token_queries.ask()
    assert bench.token_queries.receive(Failed(7, 1, "no", "")) is None
    assert bench.token_queries.receive(Failed(None, 1, "no", "")) is None
    assert bench.token_queries.busy
