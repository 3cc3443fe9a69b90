"""What the models say about a token afterwards is what they said when it was written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import Dist, SeededRng
from localspec.engine.events import Round
from localspec.engine.inspecting import inspect, token_probs
from localspec.engine.inspection import TOP_N
from localspec.engine.loop import Request, generate
from localspec.engine.model import Logits
from localspec.engine.sampling import Greedy
from tests.fakes import RecordingSampler, SamplingDrafter, Softmax, TableModel, letters

VOCAB = letters(12)
PROMPT = [1, 2, 3]


def softmax(row: Sequence[float]) -> list[float]:
    weights = np.exp(np.array(row, dtype=np.float32).astype(np.float64))
    return [float(weight) for weight in weights / weights.sum()]


@pytest.fixture
def target() -> TableModel:
    return TableModel(VOCAB, seed=1)


@pytest.fixture
def draft() -> TableModel:
    return TableModel(VOCAB, seed=2)


def reply_of(target: TableModel, draft: TableModel) -> list[int]:
    request = Request(PROMPT, Softmax(), SeededRng(5), FixedDepth(3), max_tokens=24)
    events = generate(target, [SamplingDrafter(draft)], request, Cancellation())
    return [token.id for event in events if isinstance(event, Round) for token in event.tokens]


def test_an_opinion_is_the_models_own_softmax(target: TableModel, draft: TableModel) -> None:
    """Probability, rank and the likeliest tokens are those of the row after the context, for both models."""
    seen = inspect(target, draft, PROMPT, 7, Softmax(0.5), str)
    for model, opinion in ((target, seen.target), (draft, seen.draft)):
        probs = softmax(model.row(PROMPT))
        assert opinion is not None
        assert opinion.prob == pytest.approx(probs[7])
        assert opinion.rank == 1 + sum(prob > probs[7] for prob in probs)
        assert [c.id for c in opinion.top] == sorted(range(12), key=lambda i: -probs[i])[:TOP_N]
        assert [c.text for c in opinion.top] == [str(c.id) for c in opinion.top]
        assert opinion.filtered == pytest.approx(softmax([2 * score for score in model.row(PROMPT)])[7])


def test_acceptance_is_the_rule_of_verify(target: TableModel, draft: TableModel) -> None:
    """min(1, p / q), of the distributions after the sampler; unknown where the draft would never draw the token."""
    for token in range(12):
        seen = inspect(target, draft, PROMPT, token, Softmax(), str)
        p, q = softmax(target.row(PROMPT))[token], softmax(draft.row(PROMPT))[token]
        assert seen.acceptance == pytest.approx(min(1.0, p / q))
    favourite = int(np.argmax(draft.row(PROMPT)))
    seen = inspect(target, draft, PROMPT, favourite, Greedy(), str)
    assert seen.acceptance == float(favourite == int(np.argmax(target.row(PROMPT))))
    other = (favourite + 1) % 12
    assert inspect(target, draft, PROMPT, other, Greedy(), str).acceptance is None


def test_what_is_not_known_is_not_made_up(target: TableModel) -> None:
    """Without a draft, a sampler, or room in the draft's context there is no opinion, rather than a wrong one."""
    seen = inspect(target, None, PROMPT, 7, None, str)
    assert (seen.draft, seen.target.filtered, seen.acceptance) == (None, None, None)
    for n_ctx, known in ((2, False), (3, True)):
        cramped = TableModel(VOCAB, seed=2, n_ctx=n_ctx)
        assert (inspect(target, cramped, PROMPT, 7, Softmax(), str).draft is not None) is known


def test_tokens_as_likely_as_each_other_have_the_same_rank() -> None:
    """As many are listed as there are; of equals the lower id comes first."""

    class Alike(TableModel):
        def row(self, context: Sequence[int]) -> list[float]:
            return [0.0, 2.0, 1.0, 1.0]

    seen = [inspect(Alike(letters(4)), None, PROMPT, token, None, str).target for token in range(4)]
    assert [opinion.rank for opinion in seen] == [4, 1, 2, 2]
    assert [candidate.id for candidate in seen[0].top] == [1, 2, 3, 0]


def test_a_draft_that_lacks_the_token_gives_it_no_chance(target: TableModel) -> None:
    """Its vocabulary may end sooner."""
    seen = inspect(target, TableModel(letters(8), seed=2), PROMPT, 9, Softmax(), str)
    assert seen.draft is not None
    assert (seen.draft.prob, seen.draft.filtered, seen.draft.rank) == (0.0, 0.0, 9)
    assert seen.acceptance is None


def test_inspecting_leaves_the_sampler_where_it_was(target: TableModel, draft: TableModel) -> None:
    """The draft's walk uses a fork; nothing is accepted."""
    asked: list[Sequence[float]] = []

    class Asked(RecordingSampler):
        def dist(self, row: Logits) -> Dist:
            asked.append(row.tolist())
            return super().dist(row)

    sampler = Asked(Softmax())
    inspect(target, draft, PROMPT, 7, sampler, str)
    assert sampler.path == []
    assert asked == [pytest.approx(target.row(PROMPT))], "the draft's row is asked of a fork"


@pytest.mark.parametrize("width", [1, 3, 5, 24, 99])
def test_probabilities_of_a_reply_do_not_depend_on_the_pieces(
    target: TableModel, draft: TableModel, width: int
) -> None:
    """However many rows are taken at once, each token is weighed after exactly what stands before it."""
    reply = reply_of(target, draft)
    target.calls.clear()
    probs = [prob for chunk in token_probs(target, PROMPT, reply, width) for prob in chunk]
    expected = [softmax(target.row([*PROMPT, *reply[:i]]))[token] for i, token in enumerate(reply)]
    assert probs == pytest.approx(expected)
    assert all(last <= width for _, last in target.calls)
