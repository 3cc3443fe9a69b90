"""Log probabilities: each token's own row of the target's scores, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.events import Origin, Round, Token
from localspec.engine.logprobs import LogprobReader, highest
from localspec.engine.loop import Request, generate
from tests.engine.test_loop import PROMPT, WHICH, any_drafter
from tests.fakes import Softmax, TableModel, letters

VOCAB = letters(8, frozenset({7}))


def tokens_of(seed: int, which: int, depth: int, reader: LogprobReader | None) -> list[Token]:
    sampler, policy = Softmax(0.8), FixedDepth(depth)
    request = Request(PROMPT, sampler, SeededRng(seed), policy, max_tokens=30, stop=("abc",), logprobs=reader)
    drafter = any_drafter(which, VOCAB, seed)
    events = generate(TableModel(VOCAB, seed=seed), [drafter] if drafter else [], request, Cancellation())
    return [token for event in events if isinstance(event, Round) for token in event.tokens]


@given(which=WHICH, depth=st.integers(0, 6), seed=st.integers(0, 999), top_n=st.integers(0, 20))
@settings(max_examples=150, deadline=None)
def test_every_token_has_the_softmax_of_its_own_place(which: int, depth: int, seed: int, top_n: int) -> None:
    """Whatever its origin; and asking changes no token, text or origin."""
    tokens = tokens_of(seed, which, depth, LogprobReader(top_n, VOCAB.piece))
    assert [replace(token, logprobs=None) for token in tokens] == tokens_of(seed, which, depth, None)
    target, context = TableModel(VOCAB, seed=seed), list(PROMPT)
    for token in tokens:
        row = np.array(target.row(context), dtype=np.float32).tolist()
        total = log(sum(map(exp, row)))
        assert token.logprobs is not None
        assert token.logprobs.logprob == pytest.approx(row[token.id] - total)
        assert token.logprobs.piece == VOCAB.piece(token.id)
        best = sorted(range(8), key=lambda other: -row[other])[:top_n]
        assert [other.id for other in token.logprobs.top] == best
        assert [other.logprob for other in token.logprobs.top] == pytest.approx([row[other] - total for other in best])
        context.append(token.id)


def test_tokens_of_every_origin_were_looked_at() -> None:
    """The law above is about all of them."""
    seen = {token.origin for seed in range(8) for which in range(3) for token in tokens_of(seed, which, 2, None)}
    assert seen == set(Origin)


def test_of_equal_scores_the_lowest_ids_are_the_highest() -> None:
    """The first of them is the token that greedy sampling takes; and none is looked for where none is wanted."""
    scores = np.zeros(1000)
    scores[[900, 3, 700, 500]] = 1.0
    assert highest(scores, 2) == [3, 500]
    assert highest(np.zeros(5000), 1) == [0]
    assert highest(scores[:4], 9) == [3, 0, 1, 2]
    assert highest(scores, 0) == []
