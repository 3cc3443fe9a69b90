"""Replies at once with a head: each has the proposals that it has alone, and its own law.

Rows and scores are hashes of all they stand for (``tests.fake_heads``): a row of another sequence, a pair that is
missing, stale or shifted changes what is proposed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.base.errors import EngineError
from localspec.engine.batched_head import BlockQuestion, HeadAnswer, HeadQuestion, SequenceBlockHead, SequenceHead
from localspec.engine.batching import ContinuousBatch, SequenceModel, TextQuestion
from localspec.engine.block_head import Block, BlockModel
from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import RepeatableRng, Rng, SeededRng
from localspec.engine.drafters.dflash import DFlashDrafter
from localspec.engine.events import Event, Round
from localspec.engine.head import HeadInputs, HeadModel
from localspec.engine.hidden import HiddenStates
from localspec.engine.loop import Request, generate
from localspec.engine.model import Model
from localspec.engine.model_drafter import ModelDrafter
from tests.fake_heads import FakeBlockHead, FakeHead, HiddenTarget
from tests.fakes import ExactModel, ExactSampler, PieceVocab, enumerate_law, letters

LAYERS = (1, 5, 3)
VOCAB = letters(3)
KINDS = ("eagle3", "mtp", "dflash")
KEPT = st.sampled_from([3, 1000])


def drafter_of(kind: str, head: Any, hidden: HiddenStates) -> ModelDrafter:
    if kind == "dflash":
        return DFlashDrafter(BlockModel(HeadInputs(head, hidden)))
    return ModelDrafter(kind, HeadModel(HeadInputs(head, hidden), shift=1 if kind == "eagle3" else 0))


@dataclass
class HiddenBatch:
    """A target of several sequences, each with the hidden states of its own text."""

    inner: ExactModel
    kept_n: int
    sequences: dict[int, HiddenTarget] = field(default_factory=dict)
    batch_n: int = 64

    @property
    def vocab(self) -> PieceVocab:
        return self.inner.vocab

    @property
    def n_ctx(self) -> int:
        return self.inner.n_ctx

    def of(self, sequence: int) -> HiddenTarget:
        return self.sequences.setdefault(sequence, HiddenTarget(self.inner, self.kept_n))

    def held(self, sequence: int, context: Sequence[int]) -> int:
        return self.of(sequence).held(context)

    def answer(self, questions: Sequence[TextQuestion]) -> Sequence[Any]:
        return [self.of(each.sequence).logits(each.context, each.last) for each in questions]


@dataclass
class _FakeBatch:
    """A head of several sequences, each of which holds what was read for it and nothing else."""

    vocab: PieceVocab
    batch_n: int = 40
    threads: int = 1
    sequences: dict[int, Any] = field(default_factory=dict)
    readers_n: list[int] = field(default_factory=list)
    """The replies that each evaluation was for, without those whose rows were encoded or held."""
    fails_at: int = -1
    """The evaluation that fails."""
    given: list[Any] = field(default_factory=list)
    """The scores of the latest answers; the next ones spoil them."""

    def set_threads(self, n: int) -> None:
        self.threads = n

    def forget(self, sequence: int) -> None:
        self.sequences.pop(sequence, None)

    def check(self, questions: Sequence[Any]) -> None:
        assert len({each.sequence for each in questions}) == len(questions), "one question a sequence"
        assert sum(each.lacking_n(self) for each in questions) <= self.batch_n
        for scores in self.given:
            scores.fill(np.nan)
        self.fails_at -= 1
        if self.fails_at == -1:
            raise EngineError("It failed.", "Again.")


class FakeHeadBatch(_FakeBatch):
    """An EAGLE-3 or MTP head."""

    width = 2
    encodes = True

    def answer(self, questions: Sequence[HeadQuestion]) -> Sequence[HeadAnswer]:
        self.check(questions)
        self.readers_n.append(sum(bool(each.tokens) for each in questions))
        answers = [self._answer(each) for each in questions]
        self.given = [answer.step.scores for answer in answers if answer.step]
        return answers

    def _answer(self, question: HeadQuestion) -> HeadAnswer:
        head: FakeHead = self.sequences.setdefault(question.sequence, FakeHead(self.vocab))
        if not question.tokens:
            return HeadAnswer(encoded=head.encode(question.rows))
        return HeadAnswer(head.read(question.tokens, question.rows, question.position, scored=question.scored))


class FakeBlockHeadBatch(_FakeBatch):
    """A DFlash head."""

    block_n = 4

    def answer(self, questions: Sequence[BlockQuestion]) -> Sequence[Block | None]:
        self.check(questions)
        self.readers_n.append(sum(each.rows is None for each in questions))
        answers = [self._answer(each) for each in questions]
        self.given = [block.scores for block in answers if block]
        return answers

    def _answer(self, question: BlockQuestion) -> Block | None:
        head: FakeBlockHead = self.sequences.setdefault(question.sequence, FakeBlockHead(self.vocab))
        if question.rows is None:
            return head.guess(question.tokens[0], question.position, question.n)
        head.inject(question.rows, question.position, question.tokens)
        return None


@dataclass
class Server:
    """A batch over a target and a head, and the events of the replies that were begun in it."""

    kind: str
    inner: ExactModel
    kept_n: int = 1000
    replies: list[list[Event]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.target = HiddenBatch(self.inner, self.kept_n)
        self.head: Any = (FakeBlockHeadBatch if self.kind == "dflash" else FakeHeadBatch)(self.inner.vocab)
        self.batch = ContinuousBatch([self.head, self.target])

    def drafter(self, sequence: int) -> ModelDrafter:
        kind = SequenceBlockHead if self.kind == "dflash" else SequenceHead
        head = kind(self.batch, self.head, sequence, self.target.n_ctx)
        return drafter_of(self.kind, head, self.target.of(sequence).keep_hidden(LAYERS))

    def begin(self, reply: Any) -> None:
        """``reply`` takes a target and a drafter; it has a sequence of its own."""
        sequence, events = len(self.replies), list[Event]()
        self.replies.append(events)
        drafter, target = self.drafter(sequence), SequenceModel(self.batch, self.target, sequence)
        self.batch.begin(lambda: events.extend(reply(target, drafter)), Cancellation())


def reply(prompt: Sequence[int], rng: Rng, depth: int, tokens_n: int) -> Any:
    """A reply over a target and a drafter, as an iterator of events."""

    def run(target: Model, drafter: ModelDrafter) -> Iterator[Event]:
        request = Request(prompt, ExactSampler(), rng, FixedDepth(depth), max_tokens=tokens_n)
        return generate(target, [drafter] if depth else [], request, Cancellation())

    return run


def alone(kind: str, inner: ExactModel, kept_n: int, run: Any) -> list[Event]:
    target = HiddenTarget(inner, kept_n)
    head = (FakeBlockHead if kind == "dflash" else FakeHead)(inner.vocab)
    return list(run(target, drafter_of(kind, head, target.keep_hidden(LAYERS))))


def seen(events: Sequence[Event]) -> list[tuple[Any, ...]]:
    """Tokens with where they came from, and what was refused, round by round."""
    rounds = [event for event in events if isinstance(event, Round)]
    assert not any(round_.failures for round_ in rounds)
    return [(*((each.id, each.origin) for each in rnd.tokens), *(each.id for each in rnd.rejected)) for rnd in rounds]


@given(data=st.data(), kind=st.sampled_from(KINDS), seed=st.integers(0, 99), n=st.integers(2, 4))
@settings(max_examples=60, deadline=None)
def test_a_reply_has_the_proposals_that_it_has_alone(data: st.DataObject, kind: str, seed: int, n: int) -> None:
    """Arrivals at any step, prompts that are read in pieces, depths and seeds mixed; questions in between.

    Where few rows of the target are kept, heads begin anew with those that are left.
    """
    inner, chance, kept_n = ExactModel(VOCAB, seed=seed, zeros=False), random.Random(seed), data.draw(KEPT)
    served, runs = Server(kind, inner, kept_n), []
    asking = served.drafter(9).model
    for number in range(n):
        prompt = [chance.randrange(3) for _ in range(chance.choice([1, 3, 17, 45]))]
        runs.append((prompt, 10 * seed + number, data.draw(st.integers(0, 4)), 12))
        for _ in range(data.draw(st.integers(0, 12))):
            served.batch.step()
            served.target.of(9).logits(prompt, 0)
            asking.logits([*prompt, 1], 1)
        served.begin(reply(prompt, SeededRng(runs[-1][1]), *runs[-1][2:]))
    while served.batch.step():
        pass
    for (prompt, own_seed, *how), events in zip(runs, served.replies, strict=True):
        assert seen(events) == seen(alone(kind, inner, kept_n, reply(prompt, SeededRng(own_seed), *how)))


@pytest.mark.parametrize("kind", KINDS)
def test_replies_share_the_passes_of_their_head(kind: str) -> None:
    served = Server(kind, ExactModel(VOCAB, zeros=False))
    for number in range(3):
        served.begin(reply([number, 1], SeededRng(number), 2, 9))
    while served.batch.step():
        pass
    assert served.head.readers_n.count(3) >= 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fails_at", range(6))
def test_where_the_head_fails_all_replies_go_on_without_it(kind: str, fails_at: int) -> None:
    inner = ExactModel(VOCAB, zeros=False)
    served = Server(kind, inner)
    served.head.fails_at = fails_at
    prompts = [[number, 1] for number in range(3)]
    for prompt in prompts:
        served.begin(reply(prompt, RepeatableRng(0), 2, 9))
    while served.batch.step():
        pass
    assert any(rnd.failures for events in served.replies for rnd in events if isinstance(rnd, Round))
    plain = [list(reply(prompt, RepeatableRng(0), 0, 9)(HiddenTarget(inner), None)) for prompt in prompts]
    assert [ids(events) for events in served.replies] == [ids(events) for events in plain]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arrives", [0, 1, 2, 4, 7])
@pytest.mark.parametrize("depths", [(0, 2), (2, 1), (2, 2)])
def test_the_law_of_a_reply_is_its_own(kind: str, arrives: int, depths: tuple[int, int]) -> None:
    """Over every outcome of every random decision of both replies, the second beginning after so many steps."""
    inner = ExactModel(letters(2), seed=3)

    def texts(rng: Rng) -> tuple[int, ...]:
        served = Server(kind, inner)
        for number, depth in enumerate(depths):
            for _ in range(arrives if number else 0):
                served.batch.step()
            served.begin(reply([number], rng, depth, 2))
        try:
            while served.batch.step():
                pass
        finally:
            served.batch.close()
        return sum(map(ids, served.replies), ())

    plain = [enumerate_law(partial(plain_text, inner, n)) for n in (0, 1)]
    expected = {a + b: p * q for a, p in plain[0].items() for b, q in plain[1].items()}
    assert {text: chance for text, chance in enumerate_law(texts).items() if chance} == expected


def ids(events: Sequence[Event]) -> tuple[int, ...]:
    return tuple(token.id for event in events if isinstance(event, Round) for token in event.tokens)


def plain_text(inner: ExactModel, first: int, rng: Rng) -> tuple[int, ...]:
    """Two tokens without speculation."""
    return ids(list(reply([first], rng, 0, 2)(HiddenTarget(inner), None)))
