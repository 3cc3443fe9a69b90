"""What drafters read of a text, and when, follows from prices, gains and lengths alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, nan

import pytest

from localspec.engine.adaptive import AdaptiveDepth
from localspec.engine.cancel import Cancellation
from localspec.engine.costs import Costs, QueryCost
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.drafters.draft import DraftModel
from localspec.engine.events import Finished, Round
from localspec.engine.loop import Request, generate
from localspec.engine.model import Logits
from localspec.engine.reading import (
    Gain,
    Outlook,
    ReadingDecision,
    ReadingPolicy,
    ReplyLengths,
    Unread,
    affordable_s,
    assumed_gain,
)
from localspec.engine.sampling import Greedy
from localspec.engine.text_window import TextWindow
from tests.fakes import TableModel, letters

PLAIN_S = 0.020
BENCH = Costs(
    {1: PLAIN_S, 2: 0.033, 3: 0.047, 4: 0.032, 5: 0.046, 6: 0.061, 7: 0.075, 8: 0.058, 12: 0.081, 16: 0.083},
    {"draft": QueryCost(0.0017, 0.0016)},
)
"""A target of 1.4B and a draft of 95M on two cores; the target reads a token of its prompt in READ_S."""
READ_S = 0.017


def bench_policy() -> ReadingPolicy:
    return ReadingPolicy(BENCH.scaled(1.0))


@dataclass
class Play:
    """A reply by the clock, under a policy, where drafting saves ``gain`` of plain decoding's time."""

    policy: ReadingPolicy
    gain: float
    clock_s: float = 0.0
    first_token_s: float = 0.0
    read_n: int = 0
    ready_at: int | None = None

    def run(self, prompt_n: int, length: int, room: int) -> float:
        """Plain decoding's time by this reply's."""
        self.policy.begin()
        self.clock_s = self.first_token_s = prompt_n * READ_S + PLAIN_S
        unread_n, written_n = prompt_n, 1
        while written_n < length:
            unread_n = self._read(Unread("draft", unread_n, True, written_n, room - written_n, self.clock_s))
            ready = not self.policy.put_off("draft")
            if ready and self.ready_at is None:
                self.ready_at = written_n
            tokens_n = min(3, length - written_n) if ready else 1
            spent_s = tokens_n * PLAIN_S * (1 - self.gain * ready)
            self.policy.observe({"draft"} if ready else set(), tokens_n, spent_s)
            self.clock_s += spent_s
            written_n += tokens_n
            unread_n += 0 if ready else tokens_n
        self.policy.end(length, ended=length < room)
        return (prompt_n * READ_S + length * PLAIN_S) / self.clock_s

    def _read(self, unread: Unread) -> int:
        reading = self.policy.read(unread)
        left_n = unread.tokens_n if reading.latest_n is None else reading.latest_n
        if reading.tokens_n:
            spent_s = self.policy.costs.query_s("draft", reading.tokens_n)
            self.policy.have_read("draft", reading.tokens_n, spent_s)
            self.clock_s += spent_s
            self.read_n += reading.tokens_n
        return left_n - reading.tokens_n


GRID = [(prompt_n, length) for prompt_n in (20, 200, 2000, 6000) for length in (5, 50, 500)]


@pytest.mark.parametrize("gain", [0.15, 0.35, 0.5])
@pytest.mark.parametrize(("prompt_n", "length"), GRID)
def test_no_reply_is_slower_for_having_a_draft(prompt_n: int, length: int, gain: float) -> None:
    """Of any length that is asked for, after a prompt of any length, with a pair that nothing is known of."""
    assert Play(bench_policy(), gain).run(prompt_n, length, length) >= 0.98


@pytest.mark.parametrize("gain", [0.0, 0.15, 0.35])
def test_a_mixture_of_replies_is_not_slower_for_having_a_draft(gain: float) -> None:
    """Which end by themselves, so that nobody knows beforehand how long they are."""
    policy, plain_s, clock_s = bench_policy(), 0.0, 0.0
    for number in range(60):
        prompt_n, length = GRID[number * 7 % len(GRID)]
        play = Play(policy, gain)
        plain_s += play.run(prompt_n, length, 4000) * play.clock_s
        clock_s += play.clock_s
    assert plain_s / clock_s >= 0.98


@pytest.mark.parametrize("prompt_n", [200, 2000, 6000])
def test_a_short_reply_to_a_long_prompt_is_written_without_the_draft(prompt_n: int) -> None:
    play = Play(bench_policy(), 0.35)
    assert play.run(prompt_n, 5, 5) == pytest.approx(1.0)
    assert play.read_n == 0


@pytest.mark.parametrize(("prompt_n", "within"), [(20, 8), (200, 16), (2000, 16), (6000, 24)])
def test_a_long_reply_is_soon_written_with_the_draft(prompt_n: int, within: int) -> None:
    play = Play(bench_policy(), 0.35)
    play.run(prompt_n, 1000, 4000)
    assert play.ready_at is not None
    assert play.ready_at <= within


def test_a_draft_that_never_gains_is_read_for_less_and_less() -> None:
    """What was hoped of it at the beginning is corrected by what it showed."""
    policy = bench_policy()
    plays = [Play(policy, 0.0) for _ in range(40)]
    speeds = [play.run(200, 200, 4000) for play in plays]
    assert min(speeds[20:]) > 0.985 > min(speeds[:5])


def test_where_reading_is_cheap_all_is_read_at_once() -> None:
    """On a GPU a prompt of 2,000 tokens takes a small draft no longer than half a token of the target."""
    costs = Costs({1: 0.02, 16: 0.024}, {"draft": QueryCost(0.002, 0.000004)})
    reading = ReadingPolicy(costs).read(Unread("draft", 2000, True, 1, 4000, 1.0))
    assert reading == ReadingDecision(2000, None)


def test_a_model_that_cannot_skip_reads_all_or_nothing() -> None:
    skipping = bench_policy().read(Unread("draft", 2000, True, 8, 4000, 34.0))
    assert skipping.latest_n is not None
    assert bench_policy().read(Unread("draft", 2000, False, 8, 4000, 34.0)) == ReadingDecision()


def test_a_window_is_read_in_pieces_and_not_begun_anew() -> None:
    """A piece takes as long as a few rounds; only then is the drafter asked."""
    policy = bench_policy()
    pieces: list[int] = []
    unread_n, windows = 2000, 0
    while True:
        reading = policy.read(Unread("draft", unread_n, True, 8 + len(pieces), 4000, 34.0))
        windows += reading.latest_n is not None
        unread_n = reading.latest_n or unread_n
        pieces.append(reading.tokens_n)
        policy.have_read("draft", reading.tokens_n, policy.costs.query_s("draft", reading.tokens_n))
        unread_n += 1 - reading.tokens_n
        if not policy.put_off("draft"):
            break
        assert "is reading" in policy.put_off("draft")
    assert windows == 1
    assert all(0 < BENCH.query_s("draft", piece) <= 4 * PLAIN_S for piece in pieces)
    assert len(pieces) > 2


@pytest.mark.parametrize(("unread_n", "so_far_s", "latest_n"), [(500, 8.0, None), (2000, 8.0, 256), (2000, 80.0, 625)])
def test_no_more_is_read_than_is_enough(unread_n: int, so_far_s: float, latest_n: int | None) -> None:
    """Whatever it may bring: 256 tokens, or what costs no more than the share of time that may be lost."""
    policy = bench_policy()
    policy.gains["draft"] = Gain(0.25, tokens=2000.0, saved=1400.0)
    for _ in range(64):
        policy.lengths.add(1000, ended=True)
    assert policy.read(Unread("draft", unread_n, True, 1, 4000, so_far_s)).latest_n == pytest.approx(latest_n, abs=2)


def test_a_draft_that_did_not_gain_is_tried_for_the_share_that_may_be_lost() -> None:
    """So that it may show that it has become better; and not again and again in one reply."""
    policy = bench_policy()
    policy.gains["draft"] = Gain(0.25, tokens=2000.0, saved=0.0)
    assert policy.read(Unread("draft", 60, True, 20, 4000, 2.0)) == ReadingDecision()
    assert policy.read(Unread("draft", 60, True, 21, 4000, 20.0)) == ReadingDecision(), "not considered at every token"
    assert policy.read(Unread("draft", 60, True, 23, 4000, 20.0)).tokens_n
    policy.have_read("draft", 40, 0.25)
    policy.begin()
    policy.have_read("draft", 40, 0.25)
    assert policy.read(Unread("draft", 60, True, 20, 4000, 20.0)) == ReadingDecision()


def test_prices_that_allow_no_gain_are_not_believed_for_ever() -> None:
    """A busy machine may have measured them; the share that may be lost is spent on finding out."""
    policy = ReadingPolicy(Costs({1: 0.02, 2: 0.2, 16: 2.0}, {"draft": QueryCost(0.002, 0.001)}))
    assert policy.read(Unread("draft", 15, True, 1, 4000, 0.1)).tokens_n, "less than one plain round"
    policy.begin()
    assert assumed_gain(policy.costs, "draft", 0.99) == 0.0
    assert policy.read(Unread("draft", 60, True, 20, 4000, 2.0)) == ReadingDecision()
    assert policy.read(Unread("draft", 60, True, 23, 4000, 8.0)).tokens_n


def test_why_a_draft_was_not_asked_is_said_in_seconds() -> None:
    policy = bench_policy()
    policy.begin()
    policy.read(Unread("draft", 2000, False, 1, 4, 34.0))
    assert policy.put_off("draft") == "draft has not read the text: 2000 tokens take 3.2 s, to gain some 0.029 s"


class TestReplyLengths:
    def lengths(self, *ended: int, cut: Sequence[int] = ()) -> ReplyLengths:
        """So many that the prior hardly counts."""
        lengths = ReplyLengths()
        for length in ended:
            lengths.add(length, ended=True)
        for length in cut:
            lengths.add(length, ended=False)
        return lengths

    def test_replies_go_on_as_long_as_those_before(self) -> None:
        lengths = self.lengths(*[100] * 60)
        assert lengths.outlook(1, 4000).tokens == pytest.approx(99, rel=0.1)
        assert lengths.outlook(90, 4000).tokens == pytest.approx(10, abs=15)

    def test_one_that_is_longer_than_all_before_goes_on_as_long_again(self) -> None:
        assert self.lengths(10).outlook(2000, 8000).tokens == 2000

    def test_none_goes_on_past_its_room(self) -> None:
        outlook = self.lengths(*[100] * 60).outlook(1, 4)
        assert outlook.tokens <= 4
        assert outlook.secure <= outlook.tokens

    def test_one_that_was_cut_short_would_have_gone_on(self) -> None:
        """It counts among those that were at least so long, not among those that ended there."""
        lengths = self.lengths(*[100] * 20, cut=[10] * 40)
        assert lengths.outlook(1, 4000).tokens > 80

    def test_where_many_end_soon_it_is_better_to_wait(self) -> None:
        """Half of the replies are a word; once a reply is longer than that it is long."""
        lengths = self.lengths(*[3, 300] * 30)
        assert lengths.outlook(1, 4000).tokens > 100
        assert lengths.outlook(1, 4000).secure < 8
        assert lengths.outlook(4, 4000).secure > 100

    def test_only_the_latest_count(self) -> None:
        assert self.lengths(*[500] * 100, *[20] * 64).outlook(1, 4000).tokens < 60


def test_no_more_is_paid_than_half_of_what_it_may_bring() -> None:
    """Beyond what is secure only from the share that may be lost in any case."""
    outlook = Outlook(tokens=100.0, secure=20.0)
    assert affordable_s(outlook, 0.5, 0.5, 1.0, 0.0) == 5.0
    assert affordable_s(outlook, 0.5, 0.5, 1.0, 8.0) == 8.0
    assert affordable_s(outlook, 0.0, 0.2, 1.0, 1000.0) == 10.0


def test_a_gain_is_a_share_of_plain_decoding() -> None:
    gain = Gain(0.5)
    assert gain.share == 0.5
    for _ in range(3000):
        gain.add(4, 1.0)
    assert gain.share == pytest.approx(0.25, abs=0.02)
    for _ in range(3000):
        gain.add(4, -1.0)
    assert gain.share == 0.0


def test_little_is_hoped_of_a_draft_as_dear_as_its_target() -> None:
    assert assumed_gain(BENCH, "draft") > 0.2
    assert assumed_gain(Costs(BENCH.rounds_s, {"draft": QueryCost(PLAIN_S, 0.01)}), "draft") == 0.0


class TestMemory:
    def test_it_survives_the_disk(self) -> None:
        first, second = bench_policy(), bench_policy()
        for _ in range(5):
            Play(first, 0.4).run(200, 150, 4000)
        second.remember(first.to_dict())
        assert second.to_dict() == first.to_dict()
        assert second.lengths.outlook(1, 4000) == first.lengths.outlook(1, 4000)
        assert second.gains["draft"].share == first.gains["draft"].share

    @pytest.mark.parametrize(
        "data",
        [
            {},
            [],
            {"lengths": 3, "gains": {}},
            {"lengths": [[inf, 1]], "gains": {}},
            {"lengths": [[10**400, 1]], "gains": {}},
            {"lengths": [], "gains": {"draft": 1}},
            {"lengths": [], "gains": {"draft": [-96, 1]}},
            {"lengths": [], "gains": {"draft": [nan, 1]}},
            {"lengths": [], "gains": {"draft": [1, inf]}},
        ],
    )
    def test_nonsense_is_refused(self, data: dict[str, object]) -> None:
        with pytest.raises((KeyError, TypeError, ValueError, OverflowError, AttributeError)):
            bench_policy().remember(data)


@dataclass(slots=True)
class SkippingTable(TableModel):
    """A table that may leave out the middle of a text, and writes down what it read, and when."""

    window: TextWindow = field(default_factory=TextWindow)

    def skip(self, context: Sequence[int], latest_n: int) -> None:
        self.window.skip(context, latest_n)

    def held(self, context: Sequence[int]) -> int:
        return TableModel.held(self, self.window.of(context)) + self.window.left_out_n(context)

    def logits(self, context: Sequence[int], last: int) -> Logits:
        return TableModel.logits(self, self.window.of(context), last)


PROMPT = [n * n % 11 for n in range(1200)]


class TestReplies:
    """The loop under the policy, with a clock that stands still."""

    def reply(
        self, draft: TableModel, prompt: Sequence[int], max_tokens: int, policy: AdaptiveDepth | FixedDepth
    ) -> list[Round]:
        target = TableModel(letters(12), seed=3, n_ctx=4096)
        request = Request(prompt, Greedy(), SeededRng(0), policy, max_tokens=max_tokens)
        events = list(generate(target, [DraftModel(draft)], request, Cancellation()))
        assert isinstance(events[-1], Finished)
        return [event for event in events if isinstance(event, Round)]

    def policy(self, catch_up_s: float, *, batch_s: float = 1.1) -> AdaptiveDepth:
        return AdaptiveDepth(Costs({1: 1.0, 8: batch_s}, {"draft": QueryCost(0.05, catch_up_s)}), 7)

    def draft(self) -> SkippingTable:
        return SkippingTable(letters(12), seed=3, n_ctx=4096)

    @pytest.fixture(autouse=True)
    def _still(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("time.perf_counter", lambda: 0.0)

    def test_the_first_token_waits_for_no_draft(self) -> None:
        draft = self.draft()
        (first,) = self.reply(draft, PROMPT, 1, self.policy(0.0001))
        assert draft.calls == []
        assert (first.depth, first.why) == (0, "no proposals: the first token comes sooner without")

    def test_then_the_draft_reads_and_is_asked(self) -> None:
        draft = self.draft()
        rounds = self.reply(draft, PROMPT[:400], 60, self.policy(0.001))
        assert draft.calls[0] == (400, 0)
        assert rounds[1].depth > 0

    def test_a_dear_draft_reads_the_beginning_and_the_end(self) -> None:
        draft = self.draft()
        rounds = self.reply(draft, PROMPT, 400, self.policy(0.1))
        text = [*PROMPT, *[token.id for round_ in rounds for token in round_.tokens]]
        assert draft.window.left_out_n(text) > 200
        assert any(round_.depth for round_ in rounds)

    def test_a_follow_up_goes_on_with_what_was_read(self) -> None:
        """However little that is of the conversation: what was left out stays out."""
        # Batches at no price: else the draft is asked so seldom that it falls behind, and leaves out more.
        draft, policy = self.draft(), self.policy(0.1, batch_s=1.0)
        rounds = self.reply(draft, PROMPT, 400, policy)
        text = [*PROMPT, *[token.id for round_ in rounds for token in round_.tokens], 5, 6, 7]
        left_out_n, evaluated_n = draft.window.left_out_n(text), draft.evaluated_n
        assert left_out_n
        more = self.reply(draft, text, 100, policy)
        assert draft.window.left_out_n(text) == left_out_n
        committed_n = sum(len(round_.tokens) for round_ in more)
        refused_n = sum(len(round_.rejected) + len(round_.ignored) for round_ in more)
        # And what it had not been asked about at the end of the reply before.
        assert draft.evaluated_n - evaluated_n <= committed_n + refused_n + 64

    def test_a_fixed_depth_reads_all_with_the_target(self) -> None:
        draft = self.draft()
        rounds = self.reply(draft, PROMPT, 8, FixedDepth(3))
        assert draft.calls[:2] == [(256, 0), (512, 0)]
        assert rounds[0].depth == 3

    def test_at_depth_0_a_draft_reads_nothing(self) -> None:
        draft = self.draft()
        self.reply(draft, PROMPT, 8, FixedDepth(0))
        assert draft.calls == []


TEXT = list(range(100, 200))


class TestTextWindow:
    def test_the_beginning_and_the_latest_stay(self) -> None:
        window = TextWindow()
        assert window.of(TEXT) == TEXT
        window.skip(TEXT, 30)
        assert window.of(TEXT) == [100, 101, 102, 103, *range(170, 200)]
        assert window.of([*TEXT, 7]) == [100, 101, 102, 103, *range(170, 200), 7]
        assert window.left_out_n(TEXT) == 66

    def test_another_text_is_whole(self) -> None:
        """An edit before the window, another conversation, or one that has not come so far."""
        window = TextWindow()
        window.skip(TEXT, 30)
        for text in (TEXT[1:], TEXT[:70], [0, *TEXT], list(range(500, 900))):
            assert window.of(text) == text
            assert window.left_out_n(text) == 0
        assert window.left_out_n(TEXT), "and the one before is still known"

    def test_nothing_is_left_out_of_what_is_short(self) -> None:
        window = TextWindow()
        window.skip(TEXT, 97)
        assert window.of(TEXT) == TEXT
