"""Sequences of one llama.cpp context: none reads another's cells."""

from __future__ import annotations

import random
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from localspec.base.errors import ModelFileError
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.sequences import LlamaSequence, LlamaSequences
from localspec.engine.batching import ContinuousBatch, TextQuestion
from localspec.engine.cancel import Cancellation
from tests.builtin import NOISE, RANDOM_ROUNDING, TARGET
from tests.tiny_models import N_VOCAB, write_tiny

OTHERS_N = 3
TINY_NOISE = 0.05 * RANDOM_ROUNDING
"""As ``NOISE``, of tiny random models."""


@pytest.fixture(scope="module", params=[True, False], ids=["fused", "unfused"])
def pool(request: pytest.FixtureRequest) -> Iterator[LlamaSequences]:
    settings = LoadSettings(TARGET, 8, n_ctx=1024, sequences=OTHERS_N + 1, flash_attn=request.param)
    opened = LlamaSequences.open(settings, Cancellation(), n_ctx=256)
    yield opened
    opened.close()


def test_the_stop_signal_lives_as_long_as_the_model() -> None:
    """llama.cpp reads it during evaluations: in memory that is something else's by then, it would read anything."""
    cancel = Cancellation()
    held = weakref.ref(cancel)
    pool = LlamaSequences.open(LoadSettings(TARGET, 1, n_ctx=64, threads=1), cancel, n_ctx=64)
    del cancel
    assert held() is not None
    pool.close()


def drawn(seed: int, n: int) -> list[int]:
    return [random.Random(seed * 1000 + i).randrange(30, 1500) for i in range(n)]


def test_scores_are_the_same_to_the_bit_whatever_other_sequences_hold(pool: LlamaSequences) -> None:
    """Also where others have left cells; from a beginning that another holds they are the same but for rounding."""
    text = drawn(1, 70)

    def scores() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        pool.answer([TextQuestion(0, text[:40], 0)])
        return np.array(pool.answer([TextQuestion(0, text, 2)])[0])

    for sequence in range(OTHERS_N + 1):
        pool.forget(sequence)
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


def test_scores_that_nobody_reads_are_left_out(pool: LlamaSequences) -> None:
    """The others are the same but for rounding, whichever sequence's are left out."""
    texts = [drawn(sequence, 30) for sequence in range(2)]

    def answers(*unread: set[int]) -> list[list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]]:
        for sequence in range(OTHERS_N + 1):
            pool.forget(sequence)
        asked = [TextQuestion(sequence, texts[sequence], 4, unread[sequence]) for sequence in range(2)]
        return [[np.array(row) for row in rows] for rows in pool.answer(asked)]

    everything = answers(set(), set())
    for unread in ({0}, {1, 2}), ({0, 1, 2}, set()), (set(), {2}):
        for rows, expected, left_out in zip(answers(*unread), everything, unread, strict=True):
            assert len(rows) == 4
            for place in range(4):
                if place in left_out:
                    assert not len(rows[place])
                else:
                    assert np.abs(rows[place] - expected[place]).max() < NOISE


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


@pytest.mark.parametrize("seed", range(4))
def test_a_window_that_another_sequence_cut_into_is_read_again(seed: int, tmp_path: Path) -> None:
    """Sequences are asked, cut back and lent from at random, in too few cells for all of them to keep everything."""
    path, rng = write_tiny(tmp_path / "target.gguf", "gemma3"), random.Random(seed)
    # As in test_memory_types: what is computed in other batches is the same but for the last digits.
    exactly = partial(LoadSettings, path, 24, threads=1, cache_type_k="f32", cache_type_v="f32", flash_attn=False)
    pool = LlamaSequences.open(exactly(n_ctx=384, sequences=4), Cancellation(), n_ctx=128)
    alone = LlamaModel.open(exactly(n_ctx=128), Cancellation())
    texts = [[rng.randrange(4, N_VOCAB)] for _ in range(4)]
    for _ in range(60):
        asked = []
        for sequence in rng.sample(range(4), rng.randint(1, 3)):
            kept = rng.choice(texts)[: rng.choice((1, 5, 40, 128))]
            text = texts[sequence] = [*kept, *(rng.randrange(4, N_VOCAB) for _ in range(rng.choice((1, 8, 40))))][:128]
            pool.borrow(sequence, text)
            asked.append(TextQuestion(sequence, text, rng.randint(1, min(8, len(text)))))
        for question, rows in zip(asked, [np.array(rows) for rows in pool.answer(asked)], strict=True):
            alone.hold_at_most(0)
            assert np.abs(rows - alone.logits(question.context, question.last)).max() < TINY_NOISE
    pool.close()
    alone.close()
