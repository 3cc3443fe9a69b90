"""A head as a model: it reads the target's rows where there are any, its own ahead of them, and keeps nothing stale.

Rows and scores are hashes of all they stand for (``tests.fake_heads``), so that a pair that is missing, stale, shifted
or of another layer changes the scores.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import Rng
from localspec.engine.drafter import DrafterInputs
from localspec.engine.drafters import eagle3, mtp
from localspec.engine.events import Round
from localspec.engine.head import HeadInputs, HeadModel
from localspec.engine.loop import Request, generate
from localspec.engine.model import common_prefix
from localspec.engine.model_drafter import ModelDrafter
from localspec.engine.sampling import Greedy
from tests.fake_heads import Entry, FakeHead, HiddenTarget, encoded, head_step, hidden_row
from tests.fakes import ExactModel, ExactSampler, enumerate_law, letters

LAYERS = (1, 5, 3)
VOCAB = letters(3)
EAGLE3, MTP = 1, 0


def head_over(target: HiddenTarget, shift: int, **head: Any) -> tuple[HeadModel, FakeHead]:
    fake = FakeHead(target.vocab, **head)
    return HeadModel(HeadInputs(fake, target.keep_hidden(LAYERS)), shift=shift), fake


def expected(context: Sequence[int], rows_n: int, shift: int, *, layers_n: int = 1, shared: bool = False) -> Any:
    """The scores after ``context`` of a head that has read it from the beginning, with rows for ``rows_n`` positions.

    Pair ``k`` is token ``k`` beside the row of position ``k - 1``; ahead of the rows the head's own follow.
    """
    true_n = min(rows_n + 1, len(context))
    pairs: list[Entry] = [(context[0], 0.0, 0.0)] if shift == MTP else []
    pairs += [(context[k], *encoded(hidden_row(LAYERS, context[:k]), 2)) for k in range(1, true_n)]
    before = pairs[:-1]
    ahead, position = [pairs[-1]], true_n - 1 - shift
    for step, token in enumerate([*context[true_n:], None]):
        layer = min(step, layers_n - 1)
        at = true_n - 1 if shared else position + step
        read = [ahead[-1]] if shared else before + ahead
        answer = head_step(VOCAB, read, at, layer, 2)
        if token is not None:
            ahead.append((token, *answer.hidden[0].tolist()))
    return answer.scores


tokens = st.lists(st.integers(0, 2), max_size=3)
texts = st.lists(st.integers(0, 2), min_size=2, max_size=12)
walks = st.lists(st.tuples(texts, tokens, tokens, st.booleans(), tokens))


@settings(max_examples=300)
@given(shift=st.sampled_from([EAGLE3, MTP]), kind=st.sampled_from(["one", "layers", "shared"]), walk=walks)
def test_its_scores_are_those_of_a_head_that_begins_anew(
    shift: int, kind: str, walk: list[tuple[list[int], list[int], list[int], bool, list[int]]]
) -> None:
    """Whatever was evaluated, refused and edited before: over texts that share beginnings, with guesses ahead.

    And whatever was asked while the target held another text, and so had no rows for it.
    """
    layers_n, shared, target = 4 if kind == "layers" else 1, kind == "shared", HiddenTarget(ExactModel(VOCAB))
    model, _ = head_over(target, shift, layers_n=layers_n, shares_cache=shared)
    for text, refused, guesses, prefilled, blind in walk:
        if blind:
            target.logits([2], 1)
            model.logits([*text[: len(text) // 2], *blind], 1)
        target.logits(verified := [*text[:-1], *refused], 1)
        if prefilled:
            assert model.logits(text, 0).shape == (0, 3)
            assert model.held(text) == len(text)
        assert model.reach(text) >= len(text) + 3
        for n in range(len(guesses) + 1):
            context = [*text, *guesses[:n]]
            rows_n = common_prefix(verified, context)
            wanted = expected(context, rows_n, shift, layers_n=layers_n, shared=shared)
            for _ in range(2):
                assert model.logits(context, 1)[0].tolist() == wanted.tolist()


@pytest.mark.parametrize(("kind", "shift"), [(eagle3, EAGLE3), (mtp, MTP)])
def test_each_kind_reads_its_pairs_at_their_positions(kind: Any, shift: int) -> None:
    """As the head was trained to."""
    target, text = HiddenTarget(ExactModel(VOCAB)), [0, 1, 2, 0, 1]
    inputs = HeadInputs(FakeHead(VOCAB), target.keep_hidden(LAYERS))
    drafter = kind.make(DrafterInputs(VOCAB, None, heads={"eagle3": inputs, "mtp": inputs}))
    target.logits(text[:-1], 0)
    assert drafter.model.logits(text, 1)[0].tolist() == expected(text, len(text) - 1, shift).tolist()


@pytest.mark.parametrize("shift", [EAGLE3, MTP])
def test_it_reads_each_pair_once(shift: int) -> None:
    """A text that grows is read as it grows; of refused guesses, no more than the guesses are read again."""
    target = HiddenTarget(ExactModel(VOCAB))
    model, head = head_over(target, shift)
    text = [0, 1, 2, 0, 1, 1, 2]
    target.logits(text[:-1], 0)
    model.logits(text[:-1], 0)
    model.logits(text, 1)
    assert head.read_n == len(text) - shift
    model.logits([*text, 0], 1)
    target.logits([*text, 0, 0], 3)
    model.logits([*text, 1], 1)
    assert head.read_n == len(text) - shift + 2


@given(shift=st.sampled_from([EAGLE3, MTP]), kept_n=st.integers(1, 4), restored=st.booleans())
def test_where_rows_are_gone_it_begins_with_those_that_are_left(shift: int, kept_n: int, restored: bool) -> None:
    """Every pair that it holds is a true one, and they follow each other."""
    target = HiddenTarget(ExactModel(VOCAB), kept_n=kept_n)
    model, head = head_over(target, shift)
    source, text = random.Random(kept_n), [0, 1]
    for _ in range(8):
        text = [*text, *(source.randrange(3) for _ in range(source.randint(1, 6)))]
        target.rows_from = len(text) - 2 if restored else 0
        target.logits(text[:-1], 0)
        model.logits(text, 1)
        first = min(position for _, position in head.cache)
        assert [position for _, position in head.cache] == list(range(first, len(text) - shift))
        for (_, position), pair in head.cache.items():
            k = position + shift
            row = (0.0, 0.0) if k == 0 else encoded(hidden_row(LAYERS, text[:k]), 2)
            assert pair == (text[k], *row)


def test_without_any_row_it_proposes_nothing() -> None:
    """A target whose cache came from a file has none; its next evaluation brings some."""
    target = HiddenTarget(ExactModel(VOCAB), rows_from=5)
    model, head = head_over(target, EAGLE3)
    drafter, text = ModelDrafter("eagle3", model), [0, 1, 2, 0, 1, 1]
    target.logits(text[:-1], 0)
    drafter.prefill(text)
    cursor = drafter.begin(text, Greedy())
    assert (model.reach(text), cursor.lag, cursor.peek(), head.read_n) == (0, 0, None, 0)
    target.logits(text, 1)
    cursor = drafter.begin([*text, 2], Greedy())
    assert cursor.lag == 1
    assert cursor.peek() is not None
    assert head.read_n == 1


def test_it_is_priced_without_rows_too() -> None:
    """Measuring asks for scores whatever the target holds; what was read blindly is forgotten."""
    target = HiddenTarget(ExactModel(VOCAB))
    model, head = head_over(target, EAGLE3)
    assert model.logits([0, 1, 2], 1).shape == (1, 3)
    assert model.logits([0, 1, 2, 1], 1).shape == (1, 3)
    assert model.reach([0, 1, 2, 1]) == 0
    target.logits([0, 1, 2], 0)
    assert model.logits([0, 1, 2, 1], 1)[0].tolist() == expected([0, 1, 2, 1], 3, EAGLE3).tolist()
    assert head.read_n == 2 + 3


def test_past_the_layers_that_were_trained_it_proposes_nothing() -> None:
    target = HiddenTarget(ExactModel(VOCAB))
    drafter = ModelDrafter("mtp", head_over(target, MTP, layers_n=2)[0])
    target.logits([0, 1], 0)
    cursor = drafter.begin([0, 1, 2], Greedy())
    for _ in range(2):
        assert cursor.peek() is not None
        cursor.step(1)
    assert cursor.peek() is None


def test_a_reading_that_was_stopped_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    target = HiddenTarget(ExactModel(VOCAB))
    model, _ = head_over(target, EAGLE3)
    target.logits([0, 1, 2, 0], 0)
    model.logits([0, 1], 1)
    with monkeypatch.context() as patch:
        patch.setattr(FakeHead, "read", stopped)
        with pytest.raises(Cancelled):
            model.logits([0, 1, 2, 0], 1)
    assert model.logits([0, 1, 2, 0], 1)[0].tolist() == expected([0, 1, 2, 0], 4, EAGLE3).tolist()


def stopped(*_: object, **__: object) -> None:
    raise Cancelled


def test_it_gives_one_row() -> None:
    model, _ = head_over(HiddenTarget(ExactModel(VOCAB)), EAGLE3)
    with pytest.raises(ValueError, match="a head gives one"):
        model.logits([0, 1, 2], 2)


@pytest.mark.parametrize(("name", "shift"), [("eagle3", EAGLE3), ("mtp", MTP)])
@pytest.mark.parametrize("kind", [{}, {"layers_n": 2}, {"shares_cache": True}])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_law_of_a_reply_is_the_targets_own(name: str, shift: int, kind: dict[str, Any], depth: int) -> None:
    """Exactly, over every outcome of every draw."""
    alone = ExactModel(letters(2), seed=4)

    def reply(rng: Rng, *, draft: bool) -> tuple[int, ...]:
        target = HiddenTarget(alone)
        drafters = [ModelDrafter(name, head_over(target, shift, **kind)[0])] if draft else []
        request = Request([0, 1], ExactSampler(), rng, FixedDepth(depth if draft else 0), max_tokens=4)
        events = generate(target, drafters, request, Cancellation())
        return tuple(token.id for event in events if isinstance(event, Round) for token in event.tokens)

    law = enumerate_law(lambda rng: reply(rng, draft=True))
    assert law == enumerate_law(lambda rng: reply(rng, draft=False))
    assert len(law) > 4
