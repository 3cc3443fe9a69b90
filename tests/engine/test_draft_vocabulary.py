"""The part of a large vocabulary that MTP layers propose: its scores, and the tokens that belong to it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from localspec.engine.backends.llama import draft_vocabulary
from localspec.engine.backends.llama.draft_vocabulary import DraftVocabulary, OutputMatrix
from localspec.engine.backends.llama.head import LlamaHead
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.batched_head import HeadQuestion
from localspec.engine.cancel import Cancellation
from tests.builtin import ROUNDING
from tests.tiny_heads import TinyHead, write_head, write_mtp_target, write_step35_target
from tests.tiny_models import N_VOCAB, WIDTH, write_tiny

FIRST_N = 40
NOISE = 0.05 * ROUNDING
"""How far scores may be from those of another shape of batch."""

Load = Callable[..., LlamaHead]
Rows = NDArray[np.float32]


@pytest.fixture(scope="module", params=["glm4moe", "qwen35"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_mtp_target(tmp_path_factory.mktemp("mtp") / "target.gguf", request.param)


@pytest.fixture
def load(path: Path) -> Iterator[Load]:
    """Loads heads of one target, which are closed before it is."""
    settings = LoadSettings(path, 17, n_ctx=256, threads=1, mtp=True, draft_tokens=FIRST_N)
    target, heads = LlamaModel.open(settings, Cancellation()), []

    def loaded(**options: object) -> LlamaHead:
        wanted = replace(settings, max_outputs=4, **options)  # type: ignore[arg-type]
        heads.append(LlamaHead.load(wanted, target, Cancellation(), encodes=False))
        return heads[-1]

    yield loaded
    for head in heads:
        head.close()
    target.close()


def rows(n: int, seed: int = 0) -> Rows:
    return np.random.default_rng(seed).standard_normal((n, WIDTH), np.float32)


def scores(head: LlamaHead, tokens: Sequence[int], position: int = 0, seed: int = 0) -> Rows:
    """A copy of its scores after pairs of tokens and random rows."""
    step = head.read(tokens, rows(len(tokens), seed), position, scored=True)
    assert step is not None
    return np.array(step.scores)


def proposable(found: Rows) -> list[int]:
    return [int(token) for token in np.flatnonzero(np.isfinite(found))]


@pytest.mark.parametrize("n", [1, 3, 5, 60])
def test_its_tokens_have_the_scores_of_a_whole_vocabulary(load: Load, n: int) -> None:
    """The first tokens and those that were read, whether few or many pairs are read; others have minus infinity."""
    few, whole = load(draft_vocabulary=True), load(draft_vocabulary=False)
    tokens = [50, *range(1, 30), *range(91, 95), *range(1, 27)][-n:]
    found, all_scores = scores(few, tokens), scores(whole, tokens)
    expected = sorted({*range(FIRST_N), *tokens})
    assert proposable(found) == expected
    assert len(proposable(all_scores)) == N_VOCAB
    assert np.allclose(found[expected], all_scores[expected], atol=NOISE)


def test_hidden_rows_are_those_of_a_whole_vocabulary(load: Load) -> None:
    """A proposal after another goes by them."""
    few, whole = (load(draft_vocabulary=each) for each in (True, False))
    for position, tokens in ((0, [5, 6, 7]), (3, [8]), (4, [9])):
        steps = [each.read(tokens, rows(len(tokens)), position, scored=True) for each in (few, whole)]
        first, second = (step.hidden for step in steps if step)
        assert np.allclose(first, second, atol=NOISE)


def test_texts_of_other_tokens_are_proposed_from_all_until_these_are_known(load: Load) -> None:
    """A language whose tokens have high numbers."""
    head = load(draft_vocabulary=True)
    assert len(proposable(scores(head, range(60, 90)))) == N_VOCAB
    said = proposable(scores(head, [*range(60, 90)] * 8))
    assert said == [*range(FIRST_N), *range(60, 90)]


def test_no_more_tokens_are_added_than_there_is_room_for(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then those that are missing count as such."""
    monkeypatch.setattr(draft_vocabulary, "_ADDED_N", 2)
    head = load(draft_vocabulary=True)
    assert proposable(scores(head, [70, 71, 72, 73])) == [*range(FIRST_N), 70, 71]
    scores(head, [80, 81, 82] * 10)
    assert len(proposable(scores(head, [5]))) == N_VOCAB


def test_several_texts_at_once_have_the_scores_of_each_alone(load: Load) -> None:
    """Also where another is read for no scores."""
    few, alone = load(draft_vocabulary=True, sequences=3), load(draft_vocabulary=False)
    texts = [[5, 6], [7], [8, 9, 10]]
    questions = [HeadQuestion(n, text, rows(len(text), n), 0, n != 1) for n, text in enumerate(texts)]
    first, second, third = (answer.step for answer in few.answer(questions))
    assert first is not None
    assert second is None
    assert third is not None
    for seed, step in ((0, first), (2, third)):
        expected = scores(alone, texts[seed], seed=seed)
        assert np.allclose(step.scores[:FIRST_N], expected[:FIRST_N], atol=NOISE)


def test_a_matrix_that_llama_cpp_does_not_multiply_with_is_not_used(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one that cannot be found, or is smaller than the vocabulary."""
    found = OutputMatrix.find
    for change in (
        lambda matrix: replace(matrix, offset=matrix.offset + 5 * matrix.row_bytes, rows_n=matrix.rows_n - 5),
        lambda matrix: replace(matrix, rows_n=N_VOCAB // 2),
        lambda matrix: None,
    ):
        monkeypatch.setattr(OutputMatrix, "find", staticmethod(lambda *given, c=change: c(found(*given))))
        assert len(proposable(scores(load(draft_vocabulary=True), [5]))) == N_VOCAB


def test_small_vocabularies_are_proposed_whole(load: Load) -> None:
    """There is little to gain."""
    head = load(draft_vocabulary=True, draft_tokens=N_VOCAB // 2 + 1)
    assert len(proposable(scores(head, [5]))) == N_VOCAB


def test_heads_without_rows_for_all_propose_all(tmp_path: Path) -> None:
    """Step3.5 hands over rows of scored pairs alone, and EAGLE-3's rows are not yet normalised."""
    step35 = write_step35_target(tmp_path / "step35.gguf")
    llama, eagle3 = write_tiny(tmp_path / "target.gguf", "llama"), write_head(tmp_path / "eagle3.gguf", TinyHead())
    for path, file in ((step35, step35), (llama, eagle3)):
        settings = LoadSettings(path, 17, n_ctx=256, threads=1, mtp=path == file, draft_tokens=FIRST_N)
        target = LlamaModel.open(settings, Cancellation())
        wanted = replace(settings, path=file, max_outputs=4, draft_vocabulary=True)
        head = LlamaHead.load(wanted, target, Cancellation(), encodes=path != file)
        assert len(proposable(scores(head, [5]))) == N_VOCAB
        head.close()
        target.close()


def test_a_file_that_is_none_has_no_matrix(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF and nothing else")
    assert OutputMatrix.find(native(), tmp_path / "model.gguf", WIDTH) is None
    assert OutputMatrix.find(native(), tmp_path / "missing.gguf", WIDTH) is None


def test_products_are_those_of_the_rows_in_the_file(path: Path) -> None:
    """In any number, with any threads, while tokens are added."""
    matrix = OutputMatrix.find(native(), path, WIDTH)
    assert matrix is not None
    whole = DraftVocabulary(native(), matrix, WIDTH, N_VOCAB)
    few, source = DraftVocabulary(native(), matrix, WIDTH, FIRST_N), random.Random(0)
    for turn in range(20):
        few.read([source.randrange(N_VOCAB)])
        hidden = rows(1 + turn % 3, turn)
        found, expected = (each.scores(hidden, N_VOCAB, 1 + turn % 2) for each in (few, whole))
        known = np.isfinite(found[0])
        assert np.allclose(found[:, known], expected[:, known], atol=NOISE)
    few.close()
    whole.close()
