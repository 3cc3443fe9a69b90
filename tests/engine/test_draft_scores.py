"""A draft model's scores for a part of its vocabulary: those that llama.cpp gives, without the rest."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localspec.base.errors import ModelFileError
from localspec.engine.backends.llama import draft_scores, draft_vocabulary, early_end
from localspec.engine.backends.llama.draft_vocabulary import DraftVocabulary
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.sequences import LlamaSequences
from localspec.engine.backends.llama.skipping import SkippingLlama
from localspec.engine.batching import TextQuestion
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.drafters.draft import DraftModel
from localspec.engine.events import Round
from localspec.engine.loop import Request, generate
from localspec.engine.sampling import Greedy
from tests.tiny_models import ARCHITECTURES, N_VOCAB, write_tiny

FIRST_N = 40
NOISE = 0.01
"""How far scores may be from those of another shape of batch."""

Load = Callable[..., SkippingLlama]
Scores = NDArray[np.float32]


@pytest.fixture(scope="module", params=sorted(ARCHITECTURES))
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("draft") / "draft.gguf", request.param)


@pytest.fixture
def settings(path: Path) -> LoadSettings:
    return LoadSettings(path, 17, n_ctx=512, threads=1, gpu_layers=0, draft_tokens=FIRST_N, draft_vocabulary=True)


@pytest.fixture
def load(settings: LoadSettings) -> Iterator[Load]:
    """Loads drafts of one file, with the options given."""
    opened = []

    def loaded(**options: Any) -> SkippingLlama:
        opened.append(SkippingLlama.open(replace(settings, **options), Cancellation(), n_vocab=N_VOCAB))
        return opened[-1]

    yield loaded
    for model in opened:
        model.close()


def scores(model: LlamaModel, context: Sequence[int], last: int = 1) -> Scores:
    return np.array(model.logits(context, last))


def proposable(row: Scores) -> list[int]:
    return [int(token) for token in np.flatnonzero(np.isfinite(row))]


def known(tokens: Sequence[int]) -> list[int]:
    return sorted({*range(FIRST_N), *tokens})


@pytest.mark.parametrize("n", [1, 3, 130, 300])
def test_its_tokens_have_the_scores_of_a_whole_vocabulary(load: Load, n: int) -> None:
    """The first tokens and those that were read; others have minus infinity."""
    few, whole = load(), load(draft_vocabulary=False)
    context = [[50, *range(1, 30), 95, 96][i % 32] for i in range(n)]
    found, expected = scores(few, context)[0], scores(whole, context)[0]
    assert proposable(found) == known(context)
    assert proposable(expected) == [*range(N_VOCAB)]
    assert np.allclose(found[known(context)], expected[known(context)], atol=NOISE)


def test_any_number_of_rows(load: Load) -> None:
    few, whole, context = load(), load(draft_vocabulary=False), [*range(1, 20)]
    for last in (17, 4, 1):
        found, expected = scores(few, context, last), scores(whole, context, last)
        assert found.shape == (last, N_VOCAB)
        assert np.allclose(found[:, :FIRST_N], expected[:, :FIRST_N], atol=NOISE)


def test_edits_stops_and_long_texts_leave_nothing_behind(load: Load) -> None:
    """Token by token and in leaps, to and fro between the native contexts for short texts and long ones."""
    few, whole = (load(short_fused=True, flash_attn=False, draft_vocabulary=each) for each in (True, False))
    chance = random.Random(1)
    context: list[int] = []
    for turn in range(60):
        context = context[: len(context) - chance.choice([0, 0, 0, 1, 3, 200])]
        context = context + [chance.randrange(FIRST_N) for _ in range(chance.choice([1, 1, 2, 5, 90]))]
        context = context[:400]
        found, expected = scores(few, context)[0], scores(whole, context)[0]
        assert proposable(found) == [*range(FIRST_N)]
        assert np.allclose(found[:FIRST_N], expected[:FIRST_N], atol=NOISE), turn


def test_all_tokens_are_scored_where_the_texts_have_many_others(load: Load) -> None:
    few, whole, context = load(), load(draft_vocabulary=False), [*range(FIRST_N, N_VOCAB)]
    found = scores(few, context)
    assert proposable(found[0]) == [*range(N_VOCAB)]
    assert np.allclose(found, scores(whole, context), atol=1e-4)
    assert few.size_bytes == whole.size_bytes


def test_rows_that_nobody_wants_are_left_out(load: Load) -> None:
    few, whole, context = load(), load(draft_vocabulary=False), [*range(1, 20)]
    found, expected = few.selected_logits(context, 5, {1, 2}), scores(whole, context, 5)
    assert [len(row) for row in found] == [N_VOCAB, 0, 0, N_VOCAB, N_VOCAB]
    for n in (0, 3, 4):
        assert np.allclose(found[n][:FIRST_N], expected[n][:FIRST_N], atol=NOISE)


@pytest.mark.parametrize("path", ["llama", "qwen3", "gemma3"], indirect=True)
def test_sequences_have_the_scores_of_each_alone(settings: LoadSettings, load: Load) -> None:
    """Also where one is read for no scores, and where one asks for several rows, or for some of them."""
    many = replace(settings, sequences=4, n_ctx=1024)
    pool = LlamaSequences.open_draft(many, Cancellation(), n_ctx=256, n_vocab=N_VOCAB)
    alone, chance = load(draft_vocabulary=False), random.Random(0)
    texts: list[list[int]] = [[], [], [], []]
    for turn in range(12):
        for text in texts:
            text += [chance.randrange(FIRST_N) for _ in range(chance.randint(3, 9))]
        asking = chance.sample(range(4), chance.randint(1, 4))
        texts[asking[0]].append(FIRST_N + turn)
        wanted: Sequence[tuple[int, set[int]]] = [(0, set()), (1, set()), (3, set()), (3, {1})]
        questions = [TextQuestion(n, list(texts[n]), *chance.choice(wanted)) for n in asking]
        seen = known(range(FIRST_N, FIRST_N + turn + 1))
        for question, found in zip(questions, pool.answer(questions), strict=True):
            expected = scores(alone, question.context, question.last)
            assert [len(row) > 0 for row in found] == [n not in question.unread for n in range(question.last)]
            for row, right in zip(found, expected, strict=True):
                assert not len(row) or (proposable(row) == seen and np.allclose(row[seen], right[seen], atol=NOISE))
    pool.close()


@pytest.mark.parametrize("depth", [1, 3, 7])
def test_greedy_replies_are_the_targets(path: Path, load: Load, depth: int) -> None:
    draft, chance, accepted_n = load(), random.Random(2), 0
    target = LlamaModel.open(LoadSettings(path, 17, n_ctx=512, threads=1, gpu_layers=0), Cancellation())
    for _ in range(8):
        prompt = [chance.randrange(4, 90) for _ in range(chance.randint(2, 40))]
        said = []
        for drafters in ([], [DraftModel(draft)]):
            request = Request(prompt, Greedy(), SeededRng(0), FixedDepth(depth), max_tokens=30)
            rounds = [each for each in generate(target, drafters, request, Cancellation()) if isinstance(each, Round)]
            assert not any(round_.failures for round_ in rounds)
            said.append([token.id for round_ in rounds for token in round_.tokens])
            accepted_n += sum(token.drafter == "draft" for round_ in rounds for token in round_.tokens)
        assert said[0] == said[1]
    assert accepted_n > 30
    target.close()


def test_a_cache_serves_both_ways(load: Load, tmp_path: Path) -> None:
    few, whole, context = load(), load(draft_vocabulary=False), [*range(1, 30)]
    expected = scores(whole, context)[0][:FIRST_N]
    scores(few, context)
    few.save(tmp_path / "few")
    whole.save(tmp_path / "whole")
    for model in (few, whole, load(), load(draft_vocabulary=False)):
        for file in ("few", "whole"):
            restored = model.restore(tmp_path / file)
            assert len(restored.tokens) == len(context)
            assert np.allclose(scores(model, context)[0][:FIRST_N], expected, atol=NOISE)


@pytest.mark.parametrize(
    "change",
    [
        {"mmap": False},
        {"draft_vocabulary": False},
        {"draft_tokens": N_VOCAB // 2 + 1},
        {"draft_vocabulary": None, "gpu_layers": None, "devices": None},
    ],
)
def test_all_tokens_are_proposed_where_a_part_is_not_wanted(
    load: Load, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last is a machine that may have a device for it."""
    monkeypatch.setattr(draft_scores, "on_cpu", lambda *_: False)
    assert proposable(scores(load(**change), [5])[0]) == [*range(N_VOCAB)]


def test_the_quicker_way_is_taken(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole scores take two seconds here."""
    for few_s, proposable_n in ((1.0, FIRST_N), (3.0, N_VOCAB)):
        clock = iter([each for i in range(3) for each in (10.0 * i, 10 * i + 2, 10 * i + 2, 10 * i + 2 + few_s)])
        monkeypatch.setattr(draft_vocabulary, "perf_counter", lambda clock=clock: next(clock))
        assert len(proposable(scores(load(draft_vocabulary=None), [5])[0])) == proposable_n


def test_a_file_whose_scores_are_not_llama_cpps_is_loaded_whole(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where they are scaled."""
    right = DraftVocabulary.scores
    monkeypatch.setattr(DraftVocabulary, "scores", lambda *given: 1.2 * right(*given))
    assert proposable(scores(load(), [5])[0]) == [*range(N_VOCAB)]


def test_a_file_whose_graph_has_no_such_states_is_loaded_whole(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early_end, "_STATES", b"another name")
    assert proposable(scores(load(), [5])[0]) == [*range(N_VOCAB)]


def test_a_cancelled_load_is_cancelled(settings: LoadSettings) -> None:
    cancel = Cancellation()
    cancel.set()
    with pytest.raises(Cancelled):
        SkippingLlama.open(settings, cancel)


def test_a_file_that_is_none_is_refused_as_ever(settings: LoadSettings, tmp_path: Path) -> None:
    (tmp_path / "no.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelFileError):
        SkippingLlama.open(replace(settings, path=tmp_path / "no.gguf"), Cancellation())


def test_tokens_of_a_restored_cache_are_proposed(load: Load, tmp_path: Path) -> None:
    context = [*range(10, 30), 70, 71]
    first, second = load(), load()
    scores(first, context)
    first.save(tmp_path / "cache")
    assert second.restore(tmp_path / "cache").tokens
    assert proposable(scores(second, [*context, 5])[0]) == known(context)
