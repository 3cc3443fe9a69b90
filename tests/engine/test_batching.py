"""Replies in one batch: each says what it would say alone, whoever comes and goes beside it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.base.errors import EngineError
from localspec.engine.batching import BatchEvaluation, BatchModel, ContinuousBatch, SequenceModel, TextQuestion
from localspec.engine.cancel import Cancellation
from localspec.engine.costs import Costs
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import Rng, SeededRng
from localspec.engine.drafter import Drafter
from localspec.engine.drafters.draft import DraftModel
from localspec.engine.drafters.grammar import GrammarDrafter
from localspec.engine.drafters.suffix import SuffixDrafter
from localspec.engine.events import Event, Finished, Proposal, Round, Token
from localspec.engine.loop import Request, generate
from localspec.engine.model import Model
from tests.engine.test_grammar_drafter import VOCAB as HELD_VOCAB
from tests.engine.test_grammar_drafter import sampler_of
from tests.fakes import ExactModel, ExactSampler, Softmax, TableModel, enumerate_law, letters, selected

VOCAB = letters(12, frozenset({11}))


@dataclass
class FakeBatch:
    """A model's sequences, each of which holds what was evaluated for it and nothing else."""

    model: Any
    made: list[list[TextQuestion]] = field(default_factory=list)
    held_by: dict[int, list[int]] = field(default_factory=dict)
    fails_at: int = -1
    given: list[Any] = field(default_factory=list)
    """The rows of the latest answer; the next one spoils them."""
    evaluated_n: int = 0
    """Tokens evaluated so far."""

    @property
    def vocab(self) -> Any:
        return self.model.vocab

    @property
    def n_ctx(self) -> int:
        return int(self.model.n_ctx)

    @property
    def batch_n(self) -> int:
        return 64

    def held(self, sequence: int, context: Sequence[int]) -> int:
        known = self.held_by.get(sequence, [])
        return next(
            (i for i, (a, b) in enumerate(zip(known, context, strict=False)) if a != b), min(len(known), len(context))
        )

    def answer(self, questions: Sequence[TextQuestion]) -> Sequence[Any]:
        assert len({each.sequence for each in questions}) == len(questions), "one question a sequence"
        tokens = [
            len(each.context) - min(self.held(each.sequence, each.context), len(each.context) - each.last)
            for each in questions
        ]
        assert sum(tokens) <= self.batch_n
        self.evaluated_n += sum(tokens)
        self.made.append(list(questions))
        if len(self.made) - 1 == self.fails_at:
            raise EngineError("It failed.", "Again.")
        for each in questions:
            self.held_by[each.sequence] = list(each.context)
        for rows in self.given:
            for row in rows:
                row.fill(np.nan)
        self.given = [selected(self.model, each.context, each.last, each.unread) for each in questions]
        return self.given


class SharingBatch(FakeBatch):
    """One whose sequences take over what another holds."""

    def borrow(self, sequence: int, context: Sequence[int]) -> None:
        source = max(self.held_by, key=lambda other: self.held(other, context), default=sequence)
        if (n := self.held(source, context)) > self.held(sequence, context):
            self.held_by[sequence] = self.held_by[source][:n]


@dataclass
class Played:
    """A reply in a batch."""

    events: list[Event] = field(default_factory=list)
    error: Exception | None = None
    cancel: Cancellation = field(default_factory=Cancellation)

    @property
    def ids(self) -> list[int]:
        return [token.id for event in self.events if isinstance(event, Round) for token in event.tokens]

    @property
    def end(self) -> Finished:
        last = self.events[-1]
        assert isinstance(last, Finished)
        return last


Run = Callable[[Model, Model], Any]
"""A reply over a target and a draft, as an iterator of events."""


def reply(seed: int, depth: int, prompt: Sequence[int], tokens_n: int = 24) -> Run:
    """With a draft model and the suffix drafter."""

    def run(target: Model, draft: Model) -> Any:
        drafters: list[Drafter] = [SuffixDrafter(), DraftModel(draft)]
        request = Request(prompt, Softmax(), SeededRng(seed), FixedDepth(depth), max_tokens=tokens_n)
        return generate(target, drafters, request, Cancellation())

    return run


@dataclass
class Server:
    """A batch over a target and a draft, and the replies that were begun in it."""

    target: FakeBatch
    draft: FakeBatch
    batch: ContinuousBatch = field(init=False)
    replies: list[Played] = field(default_factory=list)

    def __post_init__(self) -> None:
        models: list[BatchModel] = [self.draft, self.target]
        self.batch = ContinuousBatch(models)

    def begin(self, run: Run) -> Played:
        played, sequence = Played(), len(self.replies)
        self.replies.append(played)
        models = [SequenceModel(self.batch, model, sequence) for model in (self.target, self.draft)]

        def work() -> None:
            try:
                played.events.extend(run(*models))
            except EngineError as error:
                played.error = error

        self.batch.begin(work, played.cancel)
        return played

    def finish(self) -> None:
        while self.batch.step():
            pass


def server(seed: int = 0, kind: type[FakeBatch] = FakeBatch) -> Server:
    return Server(kind(TableModel(VOCAB, seed=seed)), kind(TableModel(VOCAB, seed=seed, order=1)))


def alone(run: Run, seed: int) -> list[int]:
    """The tokens of a reply without anybody beside it, on the models themselves."""
    found = Played(list(run(TableModel(VOCAB, seed=seed), TableModel(VOCAB, seed=seed, order=1))))
    return found.ids


@given(data=st.data(), seed=st.integers(0, 99), n=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_a_reply_does_not_depend_on_who_else_is_served(data: st.DataObject, seed: int, n: int) -> None:
    """Arrivals at any step, prompts of any length, depths and seeds mixed."""
    served = server(seed)
    chance = random.Random(seed)
    runs = []
    for number in range(n):
        prompt = [chance.randrange(11) for _ in range(chance.choice([1, 3, 60, 200]))]
        runs.append(reply(100 * seed + number, data.draw(st.integers(0, 5)), prompt))
        for _ in range(data.draw(st.integers(0, 12))):
            served.batch.step()
        served.begin(runs[-1])
    served.finish()
    for run, played in zip(runs, served.replies, strict=True):
        assert played.ids == alone(run, seed)
    assert not served.batch.replies_n


@given(data=st.data(), seed=st.integers(0, 99), n=st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_a_reply_does_not_depend_on_who_read_its_beginning(data: st.DataObject, seed: int, n: int) -> None:
    """Prompts that begin alike for a while, arrivals at any step, and whoever is reading may leave."""
    served, chance = server(seed, SharingBatch), random.Random(seed)
    beginning = [chance.randrange(11) for _ in range(300)]
    runs = []
    for number in range(n):
        prompt = beginning[: data.draw(st.sampled_from([50, 200, 300]))] + [chance.randrange(11) for _ in range(40)]
        runs.append(reply(100 * seed + number, data.draw(st.integers(0, 3)), prompt, tokens_n=8))
        served.begin(runs[-1])
        for _ in range(data.draw(st.integers(0, 8))):
            served.batch.step()
    if data.draw(st.booleans()):
        served.replies[0].cancel.set()
    served.finish()
    for run, played in zip(runs, served.replies, strict=True):
        assert played.cancel.is_set() or played.ids == alone(run, seed)
    assert not served.batch.replies_n


def test_a_beginning_that_several_replies_have_is_read_once() -> None:
    """Three replies to one question that come together, as for ``n`` in OpenAI's API."""
    served, chance = server(kind=SharingBatch), random.Random(0)
    prompt = [chance.randrange(11) for _ in range(400)]
    for number in range(3):
        served.begin(reply(number, 0, prompt, tokens_n=4))
    served.finish()
    assert 400 <= served.target.evaluated_n < 600


def test_the_work_before_a_replys_first_question_counts_in_no_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is rendering the template and compiling the grammar; what it does between two rounds counts."""
    now_s = 0.0
    monkeypatch.setattr("localspec.engine.batching.time.perf_counter", lambda: now_s)
    served, evaluations = server(), list[BatchEvaluation]()
    served.batch.evaluated = evaluations.append

    def run(target: Model, draft: Model) -> Any:
        nonlocal now_s
        now_s += 100.0
        for n in range(1, 4):
            target.logits([1, 2, 3][:n], 1)
            now_s += 1.0
        return []

    served.begin(run)
    served.finish()
    assert [each.spent_s for each in evaluations] == [0.0, 1.0, 1.0]


def test_nobodys_verification_waits_until_a_draft_has_read_a_long_text() -> None:
    endless = letters(12)
    served = Server(FakeBatch(TableModel(endless)), FakeBatch(TableModel(endless, order=1)))
    evaluations: list[BatchEvaluation] = []
    served.batch.evaluated = evaluations.append
    for prompt, tokens_n in ([1, 2, 3], 120), ([1] * 200, 4):
        served.begin(reply(1, 2, prompt, tokens_n))
    served.finish()
    kinds = "".join("t" if each.network is served.target else "dR"[each.reading] for each in evaluations)
    assert "RtR" in kinds
    assert "RRRR" not in kinds, "two proposals of the other reply take two passes"


@given(seed=st.integers(0, 99), depth=st.integers(0, 3))
@settings(max_examples=20, deadline=None)
def test_questions_between_two_steps_change_no_reply(seed: int, depth: int) -> None:
    """Not even where a reply has not looked yet at the rows that it was given."""
    served = server(seed)
    runs = [reply(seed + number, depth, [number, 3, 4], 8) for number in range(2)]
    for run in runs:
        served.begin(run)
    asking = [SequenceModel(served.batch, model, 9) for model in (served.target, served.draft)]
    while served.batch.step():
        for model in asking:
            model.logits([seed % 11, 2, 3], 2)
    assert [played.ids for played in served.replies] == [alone(run, seed) for run in runs]


GRAMMARS = ('start: "xxxxxx" /[ab]+/', 'start: /[ab]{3}/ "xxxxxx"')


def held_to(grammar: str, seed: int, costs: Costs | None) -> Run:
    """A reply held to a grammar, of whose tokens it decides many."""

    def run(target: Model, draft: Model) -> Any:
        drafters: list[Drafter] = [GrammarDrafter(), DraftModel(draft)]
        request = Request([0, 4], sampler_of(grammar), SeededRng(seed), FixedDepth(3, costs), max_tokens=12)
        return generate(target, drafters, request, Cancellation())

    return run


@given(seed=st.integers(0, 99), asks=st.booleans())
@settings(max_examples=20, deadline=None)
def test_scores_that_nobody_reads_are_left_out_and_no_reply_changes(seed: int, asks: bool) -> None:
    """Held to grammars, beside a free reply; also where rows wait while something else is asked."""
    models = [TableModel(HELD_VOCAB, seed=seed, order=order) for order in (2, 1)]
    served, evaluations = Server(FakeBatch(models[0]), FakeBatch(models[1])), list[BatchEvaluation]()
    served.batch.evaluated = evaluations.append
    runs = [held_to(grammar, seed, Costs({1: 1.0, 4: 2.0}, scores=0.1)) for grammar in GRAMMARS]
    for run in [*runs, reply(seed, 2, [1, 2, 3], 8)]:
        served.begin(run)
    other = SequenceModel(served.batch, served.target, 9)
    while served.batch.step():
        if asks:
            other.logits([seed % 5, 2, 3], 2)
    for grammar, played in zip(GRAMMARS, served.replies, strict=False):
        assert played.ids == Played(list(held_to(grammar, seed, None)(*models))).ids
    rounds = [each for played in served.replies for each in played.events if isinstance(each, Round)]
    for each in rounds:
        proposed: list[Token | Proposal] = [*each.tokens, *each.rejected, *each.ignored]
        assert each.unscored_n == sum(token.drafter == "grammar" for token in proposed)
    assert sum(each.unscored_n for each in evaluations) == sum(each.unscored_n for each in rounds) > 0


def texts(
    target: ExactModel,
    draft: ExactModel,
    rng: Rng,
    begins: Sequence[int],
    depths: Sequence[int],
    lengths: Sequence[int],
    leaves: int | None = None,
) -> list[tuple[int, ...]]:
    """Replies that begin after so many steps each; the second is cancelled ``leaves`` steps after the last."""
    served = Server(FakeBatch(target), FakeBatch(draft))
    for number, (steps_n, depth, length) in enumerate(zip(begins, depths, lengths, strict=True)):
        for _ in range(steps_n):
            served.batch.step()

        def run(target: Model, draft: Model, depth: int = depth, number: int = number, length: int = length) -> Any:
            request = Request([number % 2], ExactSampler(), rng, FixedDepth(depth), max_tokens=length)
            return generate(target, [DraftModel(draft)], request, Cancellation())

        served.begin(run)
    try:
        for _ in range(leaves or 0):
            served.batch.step()
        if leaves is not None:
            served.replies[1].cancel.set()
        served.finish()
    finally:
        served.batch.close()
    return [tuple(played.ids) for played in served.replies]


@pytest.mark.parametrize("arrives", range(9))
@pytest.mark.parametrize("depths", [(0, 2), (2, 1), (2, 2)])
def test_the_law_of_a_reply_is_its_own(arrives: int, depths: tuple[int, int]) -> None:
    """Over every outcome of every random decision of both replies, the second beginning after so many steps."""
    vocab = letters(2)
    target, draft = ExactModel(vocab, seed=3), ExactModel(vocab, seed=4)

    lengths = (2, 2)
    joint = enumerate_law(lambda rng: sum(texts(target, draft, rng, (0, arrives), depths, lengths), ()))
    plain = [enumerate_law(partial(plain_text, target, [n])) for n in (0, 1)]
    expected = {a + b: p * q for a, p in plain[0].items() for b, q in plain[1].items()}
    assert {text: chance for text, chance in joint.items() if chance} == expected


def plain_text(model: ExactModel, prompt: list[int], rng: Rng) -> tuple[int, ...]:
    """Two tokens without speculation."""
    text = list(prompt)
    for _ in range(2):
        text.append(rng.draw(ExactSampler().dist(model.logits(text, 1)[0])))
    return tuple(text[len(prompt) :])


@pytest.mark.parametrize("leaves", [1, 3, 6])
def test_the_law_of_two_replies_is_theirs_when_a_third_leaves(leaves: int) -> None:
    vocab = letters(2)
    target, draft = ExactModel(vocab, seed=3), ExactModel(vocab, seed=4)

    def kept(rng: Rng) -> tuple[int, ...]:
        first, _, third = texts(target, draft, rng, (0, 1, 1), (1, 1, 1), (2, 2, 1), leaves)
        return first + third

    joint = enumerate_law(kept)
    first = enumerate_law(partial(plain_text, target, [0]))
    third: dict[tuple[int, ...], Fraction] = {}
    for text, chance in first.items():
        third[text[:1]] = third.get(text[:1], Fraction(0)) + chance
    expected = {a + b: p * q for a, p in first.items() for b, q in third.items()}
    assert {text: chance for text, chance in joint.items() if chance} == expected
