"""Sequences of one llama.cpp context: none reads another's cells."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from localspec.base.errors import ModelFileError
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.sequences import LlamaSequence, LlamaSequences
from localspec.engine.batching import ContinuousBatch, TextQuestion
from localspec.engine.cancel import Cancellation
from tests.builtin import NOISE, TARGET

OTHERS_N = 3


@pytest.fixture(scope="module", params=[True, False], ids=["fused", "unfused"])
def pool(request: pytest.FixtureRequest) -> Iterator[LlamaSequences]:
    settings = LoadSettings(TARGET, 8, n_ctx=1024, sequences=OTHERS_N + 1, flash_attn=request.param)
    opened = LlamaSequences.open(settings, Cancellation(), n_ctx=256)
    yield opened
    opened.close()


def drawn(seed: int, n: int) -> list[int]:
    return [random.Random(seed * 1000 + i).randrange(30, 1500) for i in range(n)]


def test_scores_are_the_same_to_the_bit_whatever_other_sequences_hold(pool: LlamaSequences) -> None:
    """Also where others have left cells; from a beginning that another holds they are the same but for rounding."""
    text = drawn(1, 70)

    def scores() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        pool.answer([TextQuestion(0, text[:40], 0)])
        return np.array(pool.answer([TextQuestion(0, text, 2)])[0])

    alone = scores()
    for other in range(1, OTHERS_N + 1):
        pool.answer([TextQuestion(other, drawn(other + 1, 50 * other), 0)])
    pool.forget(0)
    assert np.array_equal(scores(), alone)
    pool.forget(2)
    pool.forget(0)
    assert np.array_equal(scores(), alone)
    pool.forget(2)
    pool.answer([TextQuestion(2, text[:40], 0)])
    pool.forget(0)
    pool.borrow(0, text)
    assert pool.held(0, text) == 40
    # In cells of another order sums are rounded otherwise.
    assert np.abs(np.array(pool.answer([TextQuestion(0, text, 2)])[0]) - alone).max() < NOISE
    assert pool.held(2, text) == 40


def test_scores_that_are_not_numbers_end_one_reply_of_those_evaluated_together(
    pool: LlamaSequences, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cells, which may be spoiled, are forgotten; the others have their scores."""
    scores = pool._scores

    def spoiled(first: int, last: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        rows = np.array(scores(first, last))
        if first == len(drawn(0, 9)) + 7:  # those of the second question
            rows[-1, 7] = np.nan
        return rows

    monkeypatch.setattr(pool, "_scores", spoiled)
    batch = ContinuousBatch([pool])
    failed: list[int] = []

    def reply(sequence: int) -> None:
        try:
            LlamaSequence(batch, pool, sequence).logits(drawn(sequence, 9), 2)
        except ModelFileError:
            failed.append(sequence)

    for sequence in (0, 1, 2):
        pool.forget(sequence)
        batch.begin(partial(reply, sequence), Cancellation())
    while batch.step():
        pass
    assert failed == [1]
    assert [pool.held(sequence, drawn(sequence, 9)) for sequence in (0, 1, 2)] == [9, 0, 9]
