"""One draft from several drafters: whoever proposes, and whenever the plan stops, the reply keeps its law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import localspec.engine.loop as loop
from localspec.base.errors import EngineError
from localspec.engine.adaptive import AdaptiveDepth
from localspec.engine.cancel import Cancellation
from localspec.engine.costs import Costs, QueryCost
from localspec.engine.depth import DepthPolicy, FixedDepth
from localspec.engine.dist import Dist, Rng, SeededRng
from localspec.engine.drafter import Drafter, NextProposal
from localspec.engine.drafters.draft import DraftModel
from localspec.engine.drafters.suffix import SuffixDrafter
from localspec.engine.drafting import DrafterQuery, Plan, draft_round
from localspec.engine.events import Origin, Round
from localspec.engine.reading import ReadingDecision, Unread
from localspec.engine.sampling import Greedy, Sampler
from localspec.engine.text_window import TextWindow
from localspec.engine.verify import verify
from tests.engine.test_verify import PROMPT, Law, target_law
from tests.fakes import (
    ExactModel,
    ExactSampler,
    RecordingSampler,
    SamplingDrafter,
    ScriptedCursor,
    ScriptedDrafter,
    TableModel,
    enumerate_law,
    letters,
)


@dataclass
class Whim:
    """A policy whose plans depend on what was drawn before, on outlooks, and on nothing sensible."""

    seed: int

    def begin(self) -> None:
        pass

    def may_read(self, drafter: str, written_n: int) -> bool:
        return True

    def read(self, unread: Unread) -> ReadingDecision:
        # By nothing that is left of other replies: a model may hold more of the text than the last time.
        some_n = min((self.seed + unread.written_n) % 7, unread.tokens_n)
        return ReadingDecision(some_n, some_n) if unread.can_skip else ReadingDecision(some_n)

    def have_read(self, drafter: str, tokens_n: int, spent_s: float) -> None:
        pass

    def plan(self, room: int) -> Plan:
        return WhimPlan(self.seed, min(2, room))

    @property
    def leaves_out_scores(self) -> bool:
        return True

    def price(self, proposed_n: int, unscored_n: int = 0) -> None:
        return None

    def explain(self) -> str:
        return ""

    def observe(self, round_: Round, proposals: Sequence[NextProposal], accepted: int) -> None:
        self.seed += len(round_.tokens) + accepted

    def end(self, tokens_n: int, *, ended: bool) -> None:
        self.seed += tokens_n


@dataclass
class WhimPlan:
    """Decides by a number that every decision changes."""

    number: int
    limit: int
    certain_only: bool = False
    seen: list[str] = field(default_factory=list)

    def should_query(self, drafter: str, lag: int, best: float) -> bool:
        self.number += 1
        return self.number % 3 > 0

    def chance(self, proposal: NextProposal) -> float:
        # By the distribution, which is known before anything is drawn.
        return float(max(proposal.dist.probs)) if proposal.drafter == "sampling" else 0.6

    def should_propose(self, rng: float) -> bool:
        self.number += 1
        return rng > 0.3 or self.number % 4 > 0

    def block(self, drafter: str) -> int:
        return 1 + self.number % self.limit

    def queried(self, query: DrafterQuery) -> None:
        self.number += query.lag


@dataclass(slots=True)
class ForgetfulModel(ExactModel):
    """Leaves out the middle of a text when it is told to."""

    window: TextWindow = field(default_factory=TextWindow)
    skipped: list[int] = field(default_factory=list)

    def skip(self, context: Sequence[int], latest_n: int) -> None:
        self.window.skip(context, latest_n)
        self.skipped.append(latest_n)

    def logits(self, context: Sequence[int], last: int) -> Any:
        # Two arguments: a class with slots has no cell for the one without any.
        return super(ForgetfulModel, self).logits(self.window.of(context), last)


@given(seed=st.integers(0, 10_000), n_vocab=st.integers(2, 3))
@settings(max_examples=20, deadline=None)
def test_whatever_of_the_text_a_draft_has_read_the_reply_has_the_targets_law(seed: int, n_vocab: int) -> None:
    """All, nothing, or its beginning and its latest tokens, which may change in the middle of a reply."""
    vocab, prompt = letters(n_vocab), [0, 1, 0, 0, 1, 1, 0, 1]
    model = ExactModel(vocab, seed=seed)
    skipped: list[int] = []

    def run(rng: Rng) -> tuple[int, ...]:
        draft = ForgetfulModel(vocab, seed=seed, zeros=False, skipped=skipped)
        request = loop.Request(prompt, ExactSampler(), rng, Whim(seed), max_tokens=3, prompt_chunk=3)
        events = loop.generate(model, [SamplingDrafter(draft)], request, Cancellation())
        return tuple(token.id for event in events if isinstance(event, Round) for token in event.tokens)

    assert enumerate_law(run) == target_law(model, 3, prompt)
    assert skipped


def law_of(model: ExactModel, drafters: Sequence[Drafter], policy: DepthPolicy, length: int) -> Law:
    """The exact law of the loop's reply with several drafters."""

    def run(rng: Rng) -> tuple[int, ...]:
        request = loop.Request(PROMPT, ExactSampler(), rng, policy, max_tokens=length)
        events = loop.generate(model, drafters, request, Cancellation())
        return tuple(token.id for event in events if isinstance(event, Round) for token in event.tokens)

    return enumerate_law(run)


@given(seed=st.integers(0, 10_000), n_vocab=st.integers(2, 3))
@settings(max_examples=40, deadline=None)
def test_mixed_rounds_under_any_plan_have_the_targets_law(seed: int, n_vocab: int) -> None:
    """Point masses and drawn proposals in one round, judged as a block, stopped by whim."""
    vocab = letters(n_vocab, ends=frozenset({1}) if seed % 2 else frozenset())
    model = ExactModel(vocab, seed=seed)
    drafters: list[Drafter] = [
        ScriptedDrafter(lambda context: [(context[-1] + 1) % n_vocab, sum(context) % n_vocab]),
        SamplingDrafter(ExactModel(vocab, seed=seed + 1, zeros=bool(seed % 3))),
    ]

    def run(rng: Rng) -> tuple[int, ...]:
        request = loop.Request(PROMPT, ExactSampler(), rng, Whim(seed), max_tokens=3)
        events = loop.generate(model, drafters, request, Cancellation())
        return tuple(token.id for event in events if isinstance(event, Round) for token in event.tokens)

    assert enumerate_law(run) == target_law(model, 3)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_long_blocks_have_the_targets_law(seed: int) -> None:
    """Three drawn proposals judged at once over a reply of four tokens."""
    model = ExactModel(letters(2), seed=seed)
    drafters = [SamplingDrafter(ExactModel(letters(2), seed=seed + 1, zeros=False))]
    assert law_of(model, drafters, FixedDepth(3), 4) == target_law(model, 4)


@given(seed=st.integers(0, 10_000), n_vocab=st.integers(2, 3))
@settings(max_examples=15, deadline=None)
def test_an_adaptive_depth_keeps_the_law(seed: int, n_vocab: int) -> None:
    """The policy learns from every outcome of every round; what it then decides never shows in the text's law.

    Time stands still, so that the same outcomes lead to the same decisions.
    """
    vocab = letters(n_vocab)
    model, draft = ExactModel(vocab, seed=seed), ExactModel(vocab, seed=seed + 1, zeros=False)
    depths: set[int] = set()

    def run(rng: Rng) -> tuple[int, ...]:
        policy = AdaptiveDepth(Costs({1: 1.0, 2: 1.3, 3: 1.35}, {"sampling": QueryCost(0.1, 0.01)}), 2)
        drafters: list[Drafter] = [SuffixDrafter(), SamplingDrafter(draft)]
        request = loop.Request([0, 1, 0], ExactSampler(), rng, policy, max_tokens=3)
        rounds = [e for e in loop.generate(model, drafters, request, Cancellation()) if isinstance(e, Round)]
        depths.update(round_.depth for round_ in rounds)
        return tuple(token.id for round_ in rounds for token in round_.tokens)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.perf_counter", lambda: 0.0)
        assert enumerate_law(run) == target_law(model, 3, prompt=[0, 1, 0])
    assert len(depths) > 1


@pytest.mark.parametrize("depth", [2, 3])
def test_a_block_keeps_more_than_token_by_token(depth: int) -> None:
    """The expected number of accepted proposals is never less, and for a draft like this it is more."""
    vocab = letters(2)
    model = ExactModel(vocab, seed=5, zeros=False)
    drafter = SamplingDrafter(ExactModel(vocab, seed=9, zeros=False))

    def mean_accepted(sampler: ExactSampler) -> Fraction:
        def run(rng: Rng) -> tuple[int, ...]:
            draft = draft_round([drafter], PROMPT, FixedDepth(depth).plan(depth), sampler, rng, vocab.is_end)
            rows = model.logits([*PROMPT, *draft.tokens], depth + 1)
            return (verify(draft, rows, sampler, rng, vocab.is_end).accepted,)

        return sum((n[0] * weight for n, weight in enumerate_law(run).items()), Fraction(0))

    class Stateful(ExactSampler):
        stateless = False

    assert mean_accepted(ExactSampler()) > mean_accepted(Stateful())


def test_a_stateful_sampler_sees_the_committed_path_and_nothing_else() -> None:
    """With several drafters and an adaptive depth, too."""
    vocab = letters(5, frozenset({4}))
    target = TableModel(vocab, seed=3)
    sampler = RecordingSampler(Greedy())
    policy = AdaptiveDepth(Costs({1: 1.0, 8: 1.1}, {"draft": QueryCost(0.01, 0.01)}), 7)
    request = loop.Request([0, 1], sampler, SeededRng(1), policy, max_tokens=60)
    drafters: list[Drafter] = [SuffixDrafter(), DraftModel(TableModel(vocab, seed=4))]
    events = list(loop.generate(target, drafters, request, Cancellation()))
    assert sampler.path == [token.id for event in events if isinstance(event, Round) for token in event.tokens]


def test_every_accepted_token_names_its_drafter() -> None:
    """A repetitive target: what the suffix drafter finds costs no look at the model."""
    vocab = letters(6)
    target = TableModel(vocab, seed=1, order=1)
    request = loop.Request([0], Greedy(), SeededRng(0), FixedDepth(4), max_tokens=80)
    drafters: list[Drafter] = [SuffixDrafter(), DraftModel(TableModel(vocab, seed=1, order=1))]
    rounds = [event for event in loop.generate(target, drafters, request, Cancellation()) if isinstance(event, Round)]
    for round_ in rounds:
        proposers = [token.drafter for token in round_.tokens[:-1]] + [each.drafter for each in round_.rejected]
        assert set((round_.drafter or "").split("+")) >= {name for name in proposers if name}
    assert {round_.drafter for round_ in rounds} <= {None, "suffix", "draft", "suffix+draft", "draft+suffix"}
    accepted = [token for round_ in rounds for token in round_.tokens if token.origin is Origin.ACCEPTED]
    assert {token.drafter for token in accepted} == {"suffix", "draft"}
    own = [token for round_ in rounds for token in round_.tokens if token.origin is not Origin.ACCEPTED]
    assert {token.drafter for token in own} == {None}


def test_free_proposals_go_on_where_the_draft_model_does_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft as dear as fifty tokens is left alone; what repeats is proposed all the same."""
    monkeypatch.setattr("time.perf_counter", lambda: 0.0)
    vocab = letters(6)
    draft = TableModel(vocab, seed=1, order=1)
    policy = AdaptiveDepth(Costs({1: 1.0, 9: 1.1}, {"draft": QueryCost(50.0, 50.0)}), 8)
    request = loop.Request([0], Greedy(), SeededRng(0), policy, max_tokens=120)
    drafters: list[Drafter] = [SuffixDrafter(), DraftModel(draft)]
    events = loop.generate(TableModel(vocab, seed=1, order=1), drafters, request, Cancellation())
    tokens = [token for event in events if isinstance(event, Round) for token in event.tokens]
    assert sum(token.drafter == "suffix" for token in tokens) > 90
    assert not any(last for _, last in draft.calls)


def test_the_more_promising_outlook_proposes() -> None:
    """By the plan's own reckoning, not by the order of the drafters."""

    class Odds:
        limit = 1
        certain_only = False

        def should_query(self, drafter: str, lag: int, best: float) -> bool:
            return True

        def chance(self, proposal: NextProposal) -> float:
            return {"low": 0.2, "high": 0.8}[proposal.drafter]

        def should_propose(self, rng: float) -> bool:
            return rng == 0.8

        def block(self, drafter: str) -> int:
            return 1

        def queried(self, query: DrafterQuery) -> None:
            pass

    drafters = [
        ScriptedDrafter(lambda context: [1], name="high"),
        ScriptedDrafter(lambda context: [2], name="low"),
    ]
    for order in (drafters, drafters[::-1]):
        draft = draft_round(order, PROMPT, Odds(), Greedy(), SeededRng(0), lambda token: False)
        assert draft.tokens == [1]
        assert draft.dists[0].prob(1) == Dist.point(1).prob(1)


@dataclass
class Noting:
    """A plan that writes down what it is asked and told."""

    limit: int
    certain_only: bool = False
    least: float = 0.0
    asked: list[tuple[str, int, float]] = field(default_factory=list)
    told: list[tuple[str, int]] = field(default_factory=list)
    spent_s: list[float] = field(default_factory=list)

    def should_query(self, drafter: str, lag: int, best: float) -> bool:
        self.asked.append((drafter, lag, best))
        return True

    def chance(self, proposal: NextProposal) -> float:
        return {"scripted": 0.5, "sampling": 0.7}[proposal.drafter]

    def should_propose(self, rng: float) -> bool:
        return rng >= self.least

    def block(self, drafter: str) -> int:
        return self.limit

    def queried(self, query: DrafterQuery) -> None:
        self.told.append((query.drafter, query.lag))
        self.spent_s.append(query.spent_s)


class NoChance:
    """Nothing is left to it."""

    def accepts(self, p: Any, q: Any) -> bool:
        raise AssertionError("nothing is proposed")

    def draw(self, dist: Dist) -> int:
        raise AssertionError("nothing is proposed")


def test_a_plan_is_asked_before_each_look_and_told_of_those_that_cost() -> None:
    """With what the best outlook so far is worth; a drafter without a lag costs nothing."""
    drafters: list[Drafter] = [
        ScriptedDrafter(lambda context: [1, 1]),
        SamplingDrafter(TableModel(letters(4), seed=1)),
    ]
    plan = Noting(2)
    draft = draft_round(drafters, PROMPT, plan, Greedy(), SeededRng(0), lambda token: False)
    assert plan.asked == [("scripted", 0, 0.0), ("sampling", 1, 0.5)] * 2
    assert plan.told == [("sampling", 1)] * 2
    assert [proposal.drafter for proposal in draft.proposals] == ["sampling"] * 2


def test_the_time_told_is_that_between_the_two_readings_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter(range(100, 1000))
    monkeypatch.setattr("localspec.engine.drafting.time.perf_counter", lambda: next(readings))
    plan = Noting(1)
    draft_round(
        [SamplingDrafter(TableModel(letters(4), seed=1))], PROMPT, plan, Greedy(), SeededRng(0), lambda _: False
    )
    assert plan.spent_s == [1.0]


def test_nothing_is_drawn_where_the_plan_adds_nothing() -> None:
    """It decides before, since what is drawn must stay."""
    drafters = [ScriptedDrafter(lambda context: [1, 1])]
    draft = draft_round(drafters, PROMPT, Noting(2, least=0.6), Greedy(), NoChance(), lambda token: False)
    assert draft.tokens == []


@pytest.mark.parametrize("turned", [False, True])
def test_everybody_moves_on_with_what_anybody_proposed(turned: bool) -> None:
    """The second goes on where the first has nothing more to say."""
    first = ScriptedDrafter(lambda context: [1], name="first")
    second = ScriptedDrafter(lambda context: [4, 2, 3], name="second")

    class FirstFirst(Noting):
        def chance(self, proposal: NextProposal) -> float:
            return {"first": 0.8, "second": 0.6}[proposal.drafter]

    order = [second, first] if turned else [first, second]
    draft = draft_round(order, PROMPT, FirstFirst(3), Greedy(), SeededRng(0), lambda token: False)
    assert draft.tokens == [1, 2, 3]


def test_of_two_that_promise_the_same_the_first_proposes() -> None:
    """It is the cheaper one."""
    drafters = [ScriptedDrafter(lambda context: [1], name=name) for name in ("here", "there")]
    for order in (drafters, drafters[::-1]):
        plan = FixedDepth(1).plan(1)
        draft = draft_round(order, PROMPT, plan, Greedy(), SeededRng(0), lambda token: False)
        assert [proposal.drafter for proposal in draft.proposals] == [order[0].name]


@dataclass
class FailingCursor(ScriptedCursor):
    """Cannot tell."""

    asked: list[int] = field(default_factory=list)

    def peek(self) -> NextProposal | None:
        self.asked.append(1)
        raise EngineError("It broke.", "Try again.")


@dataclass
class Failing(ScriptedDrafter):
    """Breaks at every look."""

    name: str = "failing"
    asked: list[int] = field(default_factory=list)

    def begin(self, context: Sequence[int], sampler: Sampler) -> ScriptedCursor:
        return FailingCursor(self.name, [], asked=self.asked)


@pytest.mark.parametrize("turned", [False, True])
def test_a_drafter_that_fails_holds_up_nobody_and_is_not_asked_again(turned: bool) -> None:
    """In the same round."""
    failing = Failing(lambda context: [])
    drafters: list[Drafter] = [failing, ScriptedDrafter(lambda context: [1, 2, 3])]
    order = drafters[::-1] if turned else drafters
    plan = FixedDepth(3).plan(3)
    draft = draft_round(order, PROMPT, plan, Greedy(), SeededRng(0), lambda token: False)
    assert draft.tokens == [1, 2, 3]
    assert draft.failures.keys() == {"failing"}
    assert len(failing.asked) == 1
