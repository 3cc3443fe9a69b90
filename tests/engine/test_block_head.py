"""The DFlash drafter on made-up heads: lossless whatever it is told, and told the same as one that begins anew."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import localspec.engine.head as head_module
import localspec.engine.loop as loop
from localspec.base.errors import DrafterUnavailableError
from localspec.engine.adaptive import AdaptiveDepth
from localspec.engine.block_head import BlockModel
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.costs import Costs, QueryCost
from localspec.engine.depth import DepthPolicy, FixedDepth
from localspec.engine.dist import Dist, Rng, SeededRng
from localspec.engine.drafter import DraftCursor, Drafter, DrafterInputs, gives_blocks
from localspec.engine.drafters.dflash import DFlashDrafter, make
from localspec.engine.drafting import DrafterQuery, draft_round
from localspec.engine.events import Round
from localspec.engine.head import HeadInputs
from localspec.engine.hidden import Rows
from tests.engine.test_drafting import Whim, WhimPlan
from tests.engine.test_verify import Law, target_law
from tests.fake_heads import FakeBlockHead, HiddenTarget, block_scores, hidden_row
from tests.fakes import ExactModel, ExactSampler, RecordingSampler, ScriptedDrafter, enumerate_law, letters

LAYERS = (2, 0)
VOCAB = letters(3)
PROMPT = [0, 1, 0]


def dflash(target: HiddenTarget, head: FakeBlockHead | None = None) -> DFlashDrafter:
    head = head or FakeBlockHead(target.vocab)
    return make(DrafterInputs(target.vocab, None, heads={"dflash": HeadInputs(head, target.keep_hidden(LAYERS))}))


def opened(target: HiddenTarget, head: FakeBlockHead) -> BlockModel:
    return BlockModel(HeadInputs(head, target.keep_hidden(LAYERS)))


@given(seed=st.integers(0, 10_000), depth=st.integers(1, 3), confident=st.booleans())
@settings(max_examples=25, deadline=None)
def test_a_reply_with_it_has_the_targets_law(seed: int, depth: int, confident: bool) -> None:
    """Blocks of every size, and turns that end."""
    vocab = letters(2 + seed % 2, ends=frozenset({1}) if seed % 3 else frozenset())
    target, head = ExactModel(vocab, seed=seed), FakeBlockHead(vocab, block_n=2, confident=confident)
    assert law_of(target, head, lambda: FixedDepth(depth)) == target_law(target, 3, PROMPT)
    assert max(head.guessed) == min(depth, 2)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_beside_another_drafter_under_any_plan_the_law_is_the_same(seed: int) -> None:
    """Tokens of another in front of the block's, between them, and in their place."""
    vocab = letters(2, ends=frozenset({1}) if seed % 2 else frozenset())
    target = ExactModel(vocab, seed=seed)
    other = ScriptedDrafter(lambda context: [(context[-1] + 1) % 2, sum(context) % 2])
    assert law_of(target, FakeBlockHead(vocab), lambda: Whim(seed), 3, other) == target_law(target, 3, PROMPT)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_an_adaptive_depth_keeps_the_law(seed: int) -> None:
    """It decides how large a block is, by what it learned."""
    target, head = ExactModel(VOCAB, seed=seed), FakeBlockHead(VOCAB)

    def policy() -> AdaptiveDepth:
        return AdaptiveDepth(Costs({1: 1.0, 2: 1.05, 3: 1.1}, {"dflash": QueryCost(0.1, 0.01, row_s=0.3)}), 2)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.perf_counter", lambda: 0.0)
        law = law_of(target, head, policy, 4)
    assert law == target_law(target, 4, PROMPT)
    assert len(set(head.guessed)) > 1


def test_a_block_reads_what_the_target_thought_of_the_text_alone() -> None:
    """Every position of it, at its place, in the order of the layers; nothing of what was refused, stopped or edited.

    Against a head that has read nothing before, through rounds of every outcome, texts cut back and begun anew.
    """
    chance = random.Random(4)
    target, head = HiddenTarget(ExactModel(VOCAB, n_ctx=200)), FakeBlockHead(VOCAB, n_ctx=200)
    model = opened(target, head)
    text = tokens(chance, 9)
    target.logits(text[:-1], 0)
    for _ in range(300):
        n = chance.randint(1, 4)
        assert_same(model.block(text, n).scores, block_scores(VOCAB, LAYERS, text, n))
        proposals = tokens(chance, chance.randint(0, 4))
        target.logits(text + proposals, len(proposals) + 1)
        accepted = chance.randint(0, len(proposals))
        text += [*proposals[:accepted], *tokens(chance, 1)]
        if chance.random() < 0.15 or len(text) > 180:
            text = text[: chance.randint(1, len(text))] + tokens(chance, chance.randint(0, 3))
            target.logits(text[:-1] or text, 0)
            if chance.random() < 0.5:
                model.logits(text[:-1], 0)
        elif chance.random() < 0.3:  # plain rounds, in which nobody asks the head
            for _ in range(chance.randint(1, 5)):
                target.logits(text, 1)
                text += tokens(chance, 1)


@pytest.mark.parametrize("kept_n", [3, 12])
def test_where_rows_are_gone_it_begins_anew_with_those_that_are_left(kept_n: int) -> None:
    """The latest ones: a window of the text."""
    target, head = HiddenTarget(ExactModel(VOCAB), kept_n), FakeBlockHead(VOCAB)
    model, text = opened(target, head), tokens(random.Random(1), 40)
    target.logits(text[:5], 0)
    assert_same(model.block(text[:6], 2).scores, block_scores(VOCAB, LAYERS, text[:6], 2, max(0, 5 - kept_n)))
    target.logits(text[:-1], 0)
    assert model.held(text) == 39 - kept_n, "what is gone need not be read"
    assert_same(model.block(text, 3).scores, block_scores(VOCAB, LAYERS, text, 3, 39 - kept_n))
    assert model.held(text) == 39


def test_an_edit_before_the_first_row_leaves_nothing_of_them() -> None:
    """What a head holds of the latest part of a text is of no use to a text that ends before it."""
    target, text = HiddenTarget(ExactModel(VOCAB), kept_n=5), tokens(random.Random(13), 40)
    model = opened(target, FakeBlockHead(VOCAB))
    target.logits(text[:-1], 0)
    assert_same(model.block(text, 1).scores, block_scores(VOCAB, LAYERS, text, 1, 34))
    edited = text[:21]
    target.logits(edited[:-1], 0)
    assert model.held(edited) == 15, "what is gone need not be read"
    assert_same(model.block(edited, 1).scores, block_scores(VOCAB, LAYERS, edited, 1, 15))


def test_a_window_is_no_longer_than_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long text that it did not follow it reads the end alone; a text that begins here, all of."""
    monkeypatch.setattr(head_module, "_WINDOW_N", 4)
    target, text = HiddenTarget(ExactModel(VOCAB), kept_n=20), tokens(random.Random(2), 30)
    target.logits(text[:-1], 0)
    assert_same(
        opened(target, FakeBlockHead(VOCAB)).block(text, 1).scores, block_scores(VOCAB, LAYERS, text, 1, 29 - 4)
    )
    target.logits(text[:10], 0)
    assert_same(
        opened(target, FakeBlockHead(VOCAB)).block(text[:11], 1).scores, block_scores(VOCAB, LAYERS, text[:11], 1)
    )


def test_after_an_edit_far_back_it_reads_nothing_again() -> None:
    """What it holds of the beginning is as true as before, though the target's rows of it are gone."""
    target, head = HiddenTarget(ExactModel(VOCAB), kept_n=8), FakeBlockHead(VOCAB)
    model, text = opened(target, head), tokens(random.Random(3), 40)
    for end in range(6, 40, 5):
        target.logits(text[:end], 0)
        model.logits(text[:end], 0)
    edited = [*text[:10], (text[10] + 1) % 3]
    before = head.injected_n
    assert (model.can_guess(edited), model.held(edited)) == (True, 10)
    assert_same(model.block(edited, 2).scores, block_scores(VOCAB, LAYERS, edited, 2))
    assert head.injected_n == before


def test_a_position_is_read_once() -> None:
    """However many rounds there are, and whatever is refused."""
    target, head = HiddenTarget(ExactModel(VOCAB)), FakeBlockHead(VOCAB)
    request = loop.Request(PROMPT, ExactSampler(), SeededRng(5), FixedDepth(3), max_tokens=40)
    list(loop.generate(target, [dflash(target, head)], request, Cancellation()))
    assert head.injected_n == max(head.cache) + 1
    assert {at: list(row) for at, row in head.cache.items()} == {
        at: list(hidden_row(LAYERS, target_text(target)[: at + 1])) for at in head.cache
    }


def test_without_rows_it_proposes_nothing_and_costs_nothing() -> None:
    """A conversation that was read from a file has none; they come with what is evaluated next."""
    target, head = HiddenTarget(ExactModel(VOCAB), rows_from=30), FakeBlockHead(VOCAB)
    drafter, text = dflash(target, head), tokens(random.Random(6), 31)
    target.logits(text[:-1], 0)
    cursor = drafter.begin(text, ExactSampler())
    assert (cursor.lag, cursor.peek(), head.guessed) == (0, None, [])
    target.logits(text, 1)
    text.append(0)
    cursor = drafter.begin(text, ExactSampler())
    assert cursor.lag == 2, "what has no row need not be read"
    assert cursor.peek() is not None
    assert list(head.cache) == [30]


class TestCursor:
    def test_a_block_is_computed_once_and_then_free(self) -> None:
        target, head = HiddenTarget(ExactModel(VOCAB)), FakeBlockHead(VOCAB)
        cursor = begun(target, head, tokens(random.Random(7), 10))
        lags = []
        for _ in range(5):
            lags.append(cursor.lag)
            proposal = cursor.peek()
            cursor.step(0)
        assert (lags, proposal, head.guessed) == ([10, 0, 0, 0, 0], None, [4])

    def test_it_proposes_each_place_from_its_own_row(self) -> None:
        """Also where others' tokens were taken before it, and between."""
        target, text = HiddenTarget(ExactModel(VOCAB)), tokens(random.Random(8), 10)
        cursor = begun(target, FakeBlockHead(VOCAB), text)
        rows = block_scores(VOCAB, LAYERS, text, 4)
        cursor.step(2)
        for place in (1, 3):
            proposal = cursor.peek()
            assert proposal is not None
            assert_dist(proposal.dist, rows[place])
            cursor.step(0)
            cursor.step(1)

    def test_a_block_that_is_computed_late_covers_what_was_proposed_before(self) -> None:
        target, head = HiddenTarget(ExactModel(VOCAB)), FakeBlockHead(VOCAB)
        cursor = begun(target, head, tokens(random.Random(8), 10))
        assert gives_blocks(cursor)
        cursor.step(2)
        cursor.step(2)
        assert cursor.size_block(1) == 3
        assert cursor.peek() is not None
        cursor.step(1)
        assert (cursor.lag, cursor.peek(), head.guessed) == (0, None, [3])

    def test_past_the_end_of_a_block_it_has_nothing(self) -> None:
        """Where others proposed as many tokens, it is not even computed."""
        target, head = HiddenTarget(ExactModel(VOCAB)), FakeBlockHead(VOCAB)
        cursor = begun(target, head, tokens(random.Random(8), 10))
        for _ in range(4):
            cursor.step(0)
        assert (cursor.lag, cursor.peek(), head.guessed) == (0, None, [])

    @pytest.mark.parametrize(("length", "size"), [(59, 4), (62, 2), (63, 1), (64, 0)])
    def test_a_block_ends_where_the_context_does(self, length: int, size: int) -> None:
        target, head = HiddenTarget(ExactModel(VOCAB)), FakeBlockHead(VOCAB)
        cursor = begun(target, head, tokens(random.Random(9), length))
        found = 0
        while cursor.peek() is not None:
            cursor.step(0)
            found += 1
        assert found == size

    def test_the_sampler_walks_along_whoever_proposed(self) -> None:
        """So that penalties and grammars hold for its proposals as for the target's."""
        target, text = HiddenTarget(ExactModel(VOCAB)), tokens(random.Random(10), 10)
        forks: list[RecordingSampler] = []

        class Sampler(RecordingSampler):
            def fork(self) -> RecordingSampler:
                forks.append(RecordingSampler(self.inner, list(self.path)))
                return forks[-1]

        target.logits(text[:-1], 0)
        cursor = dflash(target).begin(text, Sampler(ExactSampler(), [9]))
        for token in (2, 1, 0):
            cursor.peek()
            cursor.step(token)
        cursor.peek()
        assert [fork.path for fork in forks] == [[9, 2, 1, 0]]

    def test_what_it_is_certain_of_is_told_apart_by_place(self) -> None:
        """The first place hangs on the text alone; the others on guesses before them."""
        cursor = begun(HiddenTarget(ExactModel(VOCAB)), FakeBlockHead(VOCAB), [0, 1, 2, 0])
        kinds = []
        for _ in range(3):
            proposal = cursor.peek()
            assert proposal is not None
            kinds.append((proposal.evidence.endswith(" later"), 0.05 < proposal.prior < 0.95))
            cursor.step(0)
        assert kinds == [(False, True), (True, True), (True, True)]

    def test_a_head_that_knows_its_chances_is_believed_to_begin_with(self) -> None:
        head = FakeBlockHead(VOCAB, confident=True)
        cursor = begun(HiddenTarget(ExactModel(VOCAB)), head, [0, 1, 2, 0])
        kinds = []
        for _ in range(2):
            proposal = cursor.peek()
            assert proposal is not None
            kinds.append((proposal.evidence, round(proposal.prior, 3)))
            cursor.step(0)
        assert kinds == [("drawn confidence 9", 0.95), ("drawn confidence 4 later", 0.475)]


def test_a_round_asks_for_as_large_a_block_as_the_plan_wants() -> None:
    """And is told what it cost."""
    target, head = HiddenTarget(ExactModel(VOCAB)), FakeBlockHead(VOCAB)
    told: list[DrafterQuery] = []

    class Plan(WhimPlan):
        """Asks and proposes whenever it can."""

        def should_query(self, drafter: str, lag: int, best: float) -> bool:
            return True

        def should_propose(self, rng: float) -> bool:
            return True

        def queried(self, query: DrafterQuery) -> None:
            told.append(query)

    text = [0, 1, 2, 0]
    target.logits(text[:-1], 0)
    draft = draft_round([dflash(target, head)], text, Plan(2, 3), ExactSampler(), SeededRng(0), lambda token: False)
    assert (len(draft), head.guessed) == (3, [3])
    assert [(query.drafter, query.lag, query.proposals_n) for query in told] == [("dflash", 4, 3)]


def test_at_a_fixed_depth_a_block_is_as_large_to_the_last() -> None:
    """Where a reply has room for fewer tokens too: the places after a proposal change what is guessed for it."""
    target, head = HiddenTarget(ExactModel(VOCAB)), FakeBlockHead(VOCAB)
    request = loop.Request(PROMPT, ExactSampler(), SeededRng(5), FixedDepth(3), max_tokens=12)
    rounds = [e for e in loop.generate(target, [dflash(target, head)], request, Cancellation()) if isinstance(e, Round)]
    assert set(head.guessed) == {3}
    assert len(rounds[-1].tokens) + len(rounds[-1].rejected) <= 4


def test_a_prompt_is_read_with_the_rows_there_are() -> None:
    """Piece by piece, as the target reads it."""
    target, head = HiddenTarget(ExactModel(VOCAB), kept_n=5), FakeBlockHead(VOCAB)
    drafter, text = dflash(target, head), tokens(random.Random(11), 20)
    for end in (5, 10, 15, 19):
        target.logits(text[:end], 0)
        drafter.prefill(text[:end])
    assert drafter.begin(text, ExactSampler()).lag == 1
    assert head.injected_n == 19


def test_a_cancelled_reading_leaves_nothing_to_believe_in() -> None:
    """Whatever part of it was done: what is read next is as true as ever."""
    chance = random.Random(12)

    class Interrupted(FakeBlockHead):
        def inject(self, features: Rows, position: int, tokens: Sequence[int]) -> None:
            done_n = chance.randint(0, len(features))
            if done_n < len(features) and chance.random() < 0.5:
                if done_n:
                    FakeBlockHead.inject(self, features[:done_n], position, tokens[:done_n])
                raise Cancelled
            FakeBlockHead.inject(self, features, position, tokens)

    target = HiddenTarget(ExactModel(VOCAB, n_ctx=200))
    model, text, read_n = opened(target, Interrupted(VOCAB, n_ctx=200)), tokens(chance, 30), 0
    for _ in range(400):
        target.logits(text[:-1], 0)
        with suppress(Cancelled):
            assert_same(model.block(text, 2).scores, block_scores(VOCAB, LAYERS, text, 2))
            read_n += 1
        text = text[: chance.randint(5, len(text))] + tokens(chance, chance.randint(0, 150 - len(text)))
    assert read_n > 20


def test_a_head_gives_one_row_at_most() -> None:
    target = HiddenTarget(ExactModel(VOCAB))
    with pytest.raises(ValueError, match="2 rows"):
        opened(target, FakeBlockHead(VOCAB)).logits([0, 1], 2)


def test_without_a_head_there_is_no_such_drafter() -> None:
    with pytest.raises(DrafterUnavailableError, match="No DFlash head is loaded"):
        make(DrafterInputs(VOCAB, None))


def law_of(
    target: ExactModel, head: FakeBlockHead, policy: Callable[[], DepthPolicy], length: int = 3, *others: Drafter
) -> Law:
    """The exact law of replies of so many tokens; each reads the text anew, so that the same draws lead to the same."""

    def run(rng: Rng) -> tuple[int, ...]:
        head.forget()
        hidden = HiddenTarget(target)
        request = loop.Request(PROMPT, ExactSampler(), rng, policy(), max_tokens=length)
        events = loop.generate(hidden, [*others, dflash(hidden, head)], request, Cancellation())
        return tuple(token.id for event in events if isinstance(event, Round) for token in event.tokens)

    return enumerate_law(run)


def begun(target: HiddenTarget, head: FakeBlockHead, text: Sequence[int]) -> DraftCursor:
    target.logits(text[:-1], 0)
    return dflash(target, head).begin(text, ExactSampler())


def tokens(chance: random.Random, n: int) -> list[int]:
    return [chance.randrange(3) for _ in range(n)]


def target_text(target: HiddenTarget) -> list[int]:
    return list(target._evaluated)


def assert_same(rows: object, expected: Sequence[object]) -> None:
    assert np.array_equal(np.asarray(rows), np.asarray(expected))


def assert_dist(dist: Dist, row: object) -> None:
    assert list(dist.probs) == list(np.asarray(row))
