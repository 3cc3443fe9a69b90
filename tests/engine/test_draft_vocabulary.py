"""The part of a large vocabulary that a head proposes: its scores, and the tokens that belong to it."""

from __future__ import annotations

import importlib
import random
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray

from localspec.base.errors import ModelFileError
from localspec.engine.backends import llama
from localspec.engine.backends.llama import draft_vocabulary, early_end, ggml, output_matrix
from localspec.engine.backends.llama import head as head_module
from localspec.engine.backends.llama.block_head import BLOCK_BATCH_TOKENS, LlamaBlockHead
from localspec.engine.backends.llama.draft_vocabulary import DraftVocabulary
from localspec.engine.backends.llama.early_end import EarlyEnd
from localspec.engine.backends.llama.file_header import tensor_names
from localspec.engine.backends.llama.head import LlamaHead
from localspec.engine.backends.llama.load import LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.output_matrix import OF_HEAD, OF_MODEL, OF_MTP, OutputMatrix
from localspec.engine.batched_head import BlockQuestion, HeadQuestion
from localspec.engine.block_head import BlockModel
from localspec.engine.cancel import Cancellation
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.drafters.dflash import DFlashDrafter
from localspec.engine.events import Round
from localspec.engine.head import HeadInputs, HeadModel
from localspec.engine.loop import Request, generate
from localspec.engine.model_drafter import ModelDrafter
from localspec.engine.sampling import Greedy
from tests.builtin import ROUNDING
from tests.tiny_heads import TinyHead, favour_few, write_head, write_mtp_target, write_step35_target
from tests.tiny_models import N_VOCAB, WIDTH, write_tiny

FIRST_N = 40
NOISE = 0.05 * ROUNDING
"""How far scores may be from those of another shape of batch."""

Load = Callable[..., LlamaHead]
Rows = NDArray[np.float32]


@pytest.fixture(params=[0, WIDTH + 1], ids=["wide", "narrow"])
def wide(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """True if heads count as wide: the pairs that they are not to guess from are read apart."""
    monkeypatch.setattr(head_module, "WIDE", request.param)
    return not request.param


@pytest.fixture(scope="module", params=["glm4moe", "qwen35"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_mtp_target(tmp_path_factory.mktemp("mtp") / "target.gguf", request.param)


EAGLE3 = {"eagle3": TinyHead(), "with an output": TinyHead(own_output=True, own_embedding=True)}


@pytest.fixture(scope="module", params=["glm4moe", "qwen35", *EAGLE3])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A target with MTP layers, which are its head; or one with an EAGLE-3 head."""
    folder = tmp_path_factory.mktemp("pair")
    if request.param in EAGLE3:
        target = write_tiny(folder / "target.gguf", "llama", spoil=favour_few)
        return target, write_head(folder / "head.gguf", EAGLE3[request.param])
    target = write_mtp_target(folder / "target.gguf", request.param)
    return target, target


@pytest.fixture
def load(pair: tuple[Path, Path], wide: bool) -> Iterator[Load]:
    """Loads heads of one target, which are closed before it is."""
    path, file = pair
    settings = LoadSettings(path, 17, n_ctx=256, threads=1, mtp=path == file, draft_tokens=FIRST_N)
    target, heads = LlamaModel.open(settings, Cancellation()), []

    def loaded(**options: object) -> LlamaHead:
        wanted = replace(settings, path=file, max_outputs=4, **options)  # type: ignore[arg-type]
        heads.append(LlamaHead.load(wanted, target, Cancellation(), encodes=path != file))
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
        lambda matrix: matrix and replace(matrix, offset=matrix.offset + 5 * matrix.row_bytes),
        lambda matrix: matrix and replace(matrix, rows_n=N_VOCAB // 2),
        lambda matrix: None,
    ):
        monkeypatch.setattr(
            OutputMatrix, "find", staticmethod(lambda *given, c=change, **named: c(found(*given, **named)))
        )
        assert len(proposable(scores(load(draft_vocabulary=True), [5]))) == N_VOCAB


def test_small_vocabularies_are_proposed_whole(load: Load) -> None:
    """There is little to gain."""
    head = load(draft_vocabulary=True, draft_tokens=N_VOCAB // 2 + 1)
    assert len(proposable(scores(head, [5]))) == N_VOCAB


def test_heads_without_rows_for_all_propose_all(tmp_path: Path) -> None:
    """Step3.5 hands over rows of scored pairs alone."""
    path = write_step35_target(tmp_path / "step35.gguf")
    settings = LoadSettings(path, 17, n_ctx=256, threads=1, mtp=True, draft_tokens=FIRST_N)
    target = LlamaModel.open(settings, Cancellation())
    wanted = replace(settings, max_outputs=4, draft_vocabulary=True)
    head = LlamaHead.load(wanted, target, Cancellation(), encodes=False)
    assert len(proposable(scores(head, [5]))) == N_VOCAB
    head.close()
    target.close()


@contextmanager
def eagle3(folder: Path, head: TinyHead, **options: Any) -> Iterator[tuple[LlamaModel, LlamaHead, HeadModel]]:
    """A target, its EAGLE-3 head, and that as a model."""
    path = write_tiny(folder / "target.gguf", "llama", spoil=favour_few)
    settings = LoadSettings(path, 17, n_ctx=256, threads=1, flash_attn=False)
    wanted = replace(settings, path=write_head(folder / "head.gguf", head), max_outputs=4, **options)
    target = LlamaModel.open(settings, Cancellation())
    opened = LlamaHead.load(wanted, target, Cancellation(), encodes=True)
    yield target, opened, HeadModel(HeadInputs(opened, target.keep_hidden(opened.read_layers)), shift=1)
    opened.close()
    target.close()


PART = (3, 5, 8, 40, 90, 97)


@pytest.mark.usefixtures("wide")
def test_a_head_proposes_the_tokens_that_it_was_made_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small its part of the vocabulary is. Of the pairs that are read the last one alone is scored."""
    head = TinyHead(part=PART, own_output=True)
    scored_n: list[int] = []
    right = DraftVocabulary.scores

    def counted(vocabulary: DraftVocabulary, rows: Rows, threads: int) -> Rows:
        scored_n.append(len(rows))
        return right(vocabulary, rows, threads)

    monkeypatch.setattr(DraftVocabulary, "scores", counted)
    with (
        eagle3(tmp_path, head, draft_vocabulary=True) as (_, few, _),
        eagle3(tmp_path, head, draft_vocabulary=False) as (_, whole, _),
    ):
        scored_n.clear()
        for position, tokens in ((0, [5, 60, 7]), (2, [9]), (0, [*range(40)]), (40, [95, 96])):
            found, expected = (scores(each, tokens, position) for each in (few, whole))
            assert proposable(found) == [*PART]
            assert np.allclose(found[[*PART]], expected[[*PART]], atol=NOISE)
        assert scored_n == [1, 1, 1, 1]


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("draft_vocabulary", [True, False])
def test_pairs_that_nobody_wants_scores_of_end_with_the_attention(
    load: Load, wide: bool, draft_vocabulary: bool, fused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their last operation; the last pair goes on, to the scores or to what these are made of here.

    All pairs of a narrow head go on together.
    """
    seen: list[tuple[bytes, bytes]] = []
    right = EarlyEnd._answer

    def noted(ends: EarlyEnd, tensor: Any, asks: bool, data: Any) -> bool:
        if asks:
            seen.append((ends._ggml.ggml_op_desc(tensor), ends._ggml.ggml_get_name(tensor)))
        return right(ends, tensor, asks, data)

    monkeypatch.setattr(EarlyEnd, "_answer", noted)
    head = load(draft_vocabulary=draft_vocabulary, flash_attn=fused)
    attention = b"FLASH_ATTN_EXT" if fused else b"SOFT_MAX"
    for scored in (False, True):
        seen.clear()
        head.read([5, 6, 7], rows(3), 0, scored=scored)
        operations, names = [operation for operation, _ in seen], [name for _, name in seen]
        if not scored:
            assert operations.index(attention) + 1 == len(operations)
        else:
            assert operations.count(attention) == 1 + wide
            assert names[-1] == (b"result_norm" if draft_vocabulary and head.encodes else b"result_output")


def test_a_build_that_keeps_ggml_elsewhere_evaluates_all(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    early = load(draft_vocabulary=False)
    monkeypatch.setattr(early_end, "ggml_functions", lambda _: None)
    whole = load(draft_vocabulary=False)
    assert early.loaded.early_end
    assert whole.loaded.early_end is None
    assert np.allclose(scores(early, [5, 6, 7]), scores(whole, [5, 6, 7]), atol=NOISE)


@pytest.mark.parametrize("part", [(3, 5, N_VOCAB), (-1, 5, 7)])
def test_a_part_with_tokens_that_there_are_not_is_none(tmp_path: Path, part: Sequence[int]) -> None:
    path = write_head(tmp_path / "head.gguf", TinyHead(part=part, own_output=True))
    assert DraftVocabulary.of(native(), path, WIDTH, N_VOCAB, FIRST_N, OF_HEAD) is None


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("part", [None, range(N_VOCAB), range(4, N_VOCAB)])
def test_replies_with_a_heads_draft_vocabulary_are_those_without(tmp_path: Path, part: Sequence[int] | None) -> None:
    """Greedily, with proposals of which some are accepted."""
    chance, accepted_n = random.Random(4), 0
    head = TinyHead(part=part, own_output=part is not None)
    with eagle3(tmp_path, head, draft_vocabulary=True, draft_tokens=FIRST_N) as (target, opened, model):
        assert opened.loaded.early_end
        for _ in range(12):
            prompt = [chance.randrange(4, 90) for _ in range(chance.randint(2, 40))]
            said = []
            for drafters in ([], [ModelDrafter("eagle3", model)]):
                request = Request(prompt, Greedy(), SeededRng(0), FixedDepth(5), max_tokens=30)
                rounds = [x for x in generate(target, drafters, request, Cancellation()) if isinstance(x, Round)]
                assert not any(round_.failures for round_ in rounds)
                said.append([token.id for round_ in rounds for token in round_.tokens])
                accepted_n += sum(token.drafter == "eagle3" for round_ in rounds for token in round_.tokens)
            assert said[0] == said[1]
    assert accepted_n


def test_a_head_whose_graph_has_no_final_states_is_scored_by_llama_cpp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early_end, "_STATES", b"another name")
    with eagle3(tmp_path, TinyHead(), draft_vocabulary=True, draft_tokens=FIRST_N) as (_, head, _):
        assert len(proposable(scores(head, [5, 6, 7]))) == N_VOCAB


def test_a_file_that_is_none_has_no_matrix(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF and nothing else")
    assert OutputMatrix.find(native(), tmp_path / "model.gguf") is None
    assert OutputMatrix.find(native(), tmp_path / "missing.gguf") is None


def test_a_head_whose_scores_are_no_numbers_is_loaded(path: Path, tmp_path: Path) -> None:
    """It fails at its first reply, as it would without a draft vocabulary, and the others go on."""
    damaged = spoiled(path, tmp_path, "blk.3.nextn.eh_proj.weight")
    settings = LoadSettings(damaged, 17, n_ctx=256, threads=1, mtp=True, draft_tokens=FIRST_N)
    target = LlamaModel.open(settings, Cancellation())
    wanted = replace(settings, max_outputs=4, draft_vocabulary=True)
    head = LlamaHead.load(wanted, target, Cancellation(), encodes=False)
    with pytest.raises(ModelFileError, match="not numbers"):
        scores(head, [5])
    head.close()
    target.close()


def spoiled(path: Path, folder: Path, tensor: str) -> Path:
    """A copy of the file, with nothing but NaN in a tensor."""
    copy = Path(shutil.copy(path, folder / "spoiled.gguf"))
    (found,) = (each for each in gguf.GGUFReader(copy, "r+").tensors if each.name == tensor)
    found.data[:] = np.nan
    return copy


def test_no_file_is_mapped_where_none_should_be(load: Load, files: tuple[Path, Path]) -> None:
    """With ``--no-mmap`` a file may be overwritten, which would end a process that has it mapped."""
    assert len(proposable(scores(load(draft_vocabulary=True, mmap=False), [5]))) == N_VOCAB
    with blocks(files, draft_vocabulary=True, mmap=False) as opened:
        assert len(proposable(block(opened, [5, 6, 7], 1)[0])) == N_VOCAB


def test_tokens_past_the_vocabulary_are_not_added(path: Path) -> None:
    """A head's may be the shorter one, without the padding of the target's."""
    vocabulary = DraftVocabulary.of(native(), path, WIDTH, N_VOCAB - 5, FIRST_N)
    assert vocabulary is not None
    vocabulary.read([70, N_VOCAB - 5, N_VOCAB - 1, N_VOCAB])
    found = vocabulary.scores(rows(2), 1)
    assert found.shape == (2, N_VOCAB - 5)
    assert proposable(found[0]) == [*range(FIRST_N), 70]
    vocabulary.close()


def test_rows_in_any_number_share_memory(path: Path) -> None:
    """Many replies at once ask for many numbers, and scores of a whole vocabulary take a megabyte a row."""
    vocabulary = DraftVocabulary.of(native(), path, WIDTH, N_VOCAB, FIRST_N)
    assert vocabulary is not None
    vocabulary.read(range(60, 90))
    found = [vocabulary.scores(rows(n), 1) for n in (9, 1, 5)]
    assert [len(each) for each in found] == [9, 1, 5]
    assert all(np.shares_memory(found[0], each) for each in found)
    vocabulary.close()


def test_the_matrix_of_an_mtp_layer_is_not_the_targets(tmp_path: Path) -> None:
    """A DFlash head uses the target's; a layer without one of its own does, too."""
    kind, matrix = gguf.GGMLQuantizationType.F32, np.ones((N_VOCAB, WIDTH), np.float32)
    own = "blk.3.nextn.shared_head_head.weight"
    both = matrix_file(tmp_path / "both.gguf", matrix, kind, names=("token_embd.weight", own, "output.weight"))
    one = matrix_file(tmp_path / "one.gguf", matrix, kind)
    offsets = [
        [getattr(OutputMatrix.find(native(), path, names), "offset", 0) for names in (OF_MTP, OF_MODEL)]
        for path in (both, one)
    ]
    assert offsets[0][0] + matrix.nbytes == offsets[0][1]
    assert offsets[1][0] == offsets[1][1] > 0


def test_a_matrix_whose_scores_are_scaled_is_none(tmp_path: Path) -> None:
    """As with NVFP4: a head with one of its rows would lack the scale."""
    kind, matrix = gguf.GGMLQuantizationType.F32, np.ones((N_VOCAB, WIDTH), np.float32)
    path = matrix_file(tmp_path / "model.gguf", matrix, kind, names=("output.weight", "output.scale"))
    assert OutputMatrix.find(native(), path) is None


@pytest.mark.parametrize(("count", "kind", "found"), [(0, "UINT16", True), (2, "UINT16", False), (0, "INT32", False)])
def test_a_file_that_was_merged_of_parts_is_none(tmp_path: Path, count: int, kind: str, found: bool) -> None:
    """llama.cpp's tool for it sets the number of parts to 0."""
    f32, matrix = gguf.GGMLQuantizationType.F32, np.ones((N_VOCAB, WIDTH), np.float32)
    parts = [("split.count", count, gguf.GGUFValueType[kind])]
    path = matrix_file(tmp_path / "model.gguf", matrix, f32, entries=parts)
    assert (OutputMatrix.find(native(), path) is not None) == found


def test_names_of_tensors_may_be_no_text(tmp_path: Path) -> None:
    """Then it is for llama.cpp to refuse the file."""
    kind, matrix = gguf.GGMLQuantizationType.F32, np.ones((N_VOCAB, WIDTH), np.float32)
    path = matrix_file(tmp_path / "model.gguf", matrix, kind)
    path.write_bytes(path.read_bytes().replace(b"output.weight", b"\xffutput.weight"))
    assert tensor_names(native(), path) == ["rope_freqs.weight", "\ufffdutput.weight"]


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q5_1"])
def test_a_matrix_may_be_of_any_type(tmp_path: Path, kind: str) -> None:
    weights = np.random.default_rng(0).standard_normal((N_VOCAB, WIDTH), np.float32)
    quantized = gguf.quants.quantize(weights, gguf.GGMLQuantizationType[kind])
    path = matrix_file(tmp_path / "model.gguf", quantized, gguf.GGMLQuantizationType[kind])
    vocabulary = DraftVocabulary.of(native(), path, WIDTH, N_VOCAB, FIRST_N)
    assert vocabulary is not None
    vocabulary.read([70])
    found = vocabulary.scores(rows(2), 1)
    expected = rows(2) @ gguf.quants.dequantize(quantized, gguf.GGMLQuantizationType[kind]).T
    known = [*range(FIRST_N), 70]
    assert np.allclose(found[:, known], expected[:, known], atol=0.02 * np.abs(expected).max())
    assert proposable(found[0]) == known
    vocabulary.close()


def matrix_file(
    path: Path,
    matrix: NDArray[Any],
    kind: gguf.GGMLQuantizationType,
    alignment: int = 32,
    names: Sequence[str] = ("output.weight",),
    entries: Sequence[tuple[str, Any, gguf.GGUFValueType]] = (),
) -> Path:
    """A file with an output matrix, or the same under several names, and little else."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_custom_alignment(alignment)
    for entry in entries:
        writer.add_key_value(*entry)
    writer.add_tensor("rope_freqs.weight", np.ones(2, np.float32))
    for name in names:
        writer.add_tensor(name, matrix, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_matrices_that_ggml_would_end_the_process_over_are_none(tmp_path: Path) -> None:
    """Of another width than hidden rows have, or not where ggml takes tensors."""
    kind = gguf.GGMLQuantizationType.Q8_0
    matrix = gguf.quants.quantize(np.ones((N_VOCAB, WIDTH), np.float32), kind)
    right, odd = tmp_path / "right.gguf", tmp_path / "odd.gguf"
    matrix_file(right, matrix, kind)
    matrix_file(odd, matrix, kind, alignment=8)
    for width, found in ((WIDTH, True), (WIDTH - 1, False), (WIDTH // 2, False)):
        assert (DraftVocabulary.of(native(), right, width, N_VOCAB, FIRST_N) is not None) == found
    assert OutputMatrix.find(native(), odd) is None


def test_another_copy_of_the_modules_takes_no_function_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As tests that import everything anew make one."""
    for module in (ggml, output_matrix, draft_vocabulary):
        monkeypatch.delitem(sys.modules, module.__name__)
        monkeypatch.setattr(llama, module.__name__.rpartition(".")[2], module)  # to be put back
    copy = importlib.import_module(draft_vocabulary.__name__)
    assert copy.OutputMatrix is not OutputMatrix
    for each in (draft_vocabulary, copy):
        vocabulary = each.DraftVocabulary.of(native(), path, WIDTH, N_VOCAB, FIRST_N)
        assert np.isfinite(vocabulary.scores(rows(1), 1)[0, :FIRST_N]).all()
        vocabulary.close()


def test_products_are_those_of_the_rows_in_the_file(path: Path) -> None:
    """In any number, with any threads, while tokens are added."""
    matrix = OutputMatrix.find(native(), path, OF_MTP)
    assert matrix is not None
    whole = DraftVocabulary(native(), matrix, N_VOCAB, N_VOCAB)
    few, source = DraftVocabulary(native(), matrix, N_VOCAB, FIRST_N), random.Random(0)
    for turn in range(20):
        few.read([source.randrange(N_VOCAB)])
        hidden = rows(1 + turn % 3, turn)
        found, expected = (each.scores(hidden, 1 + turn % 2) for each in (few, whole))
        known = np.isfinite(found[0])
        assert np.allclose(found[:, known], expected[:, known], atol=NOISE)
    few.close()
    whole.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A target, and a DFlash head that uses its output."""
    folder = tmp_path_factory.mktemp("dflash")
    target = write_tiny(folder / "target.gguf", "llama", spoil=favour_few)
    return target, write_head(folder / "head.gguf", TinyHead("dflash"))


@contextmanager
def blocks(files: tuple[Path, Path], **options: Any) -> Iterator[tuple[LlamaModel, LlamaBlockHead, BlockModel]]:
    """The target, its head, and that as a model."""
    settings = LoadSettings(files[0], 17, n_ctx=256, threads=1, flash_attn=False)
    wanted = replace(settings, path=files[1], draft_tokens=FIRST_N, batch_tokens=BLOCK_BATCH_TOKENS, **options)
    target = LlamaModel.open(settings, Cancellation())
    head = LlamaBlockHead.load(wanted, target, Cancellation())
    yield target, head, BlockModel(HeadInputs(head, target.keep_hidden(head.read_layers)))
    head.close()
    target.close()


def block(opened: tuple[LlamaModel, LlamaBlockHead, BlockModel], text: Sequence[int], n: int) -> Rows:
    """A copy of the scores for the ``n`` places after a text."""
    opened[0].logits(text[:-1], 0)
    return np.array(opened[2].block(text, n).scores)


def test_a_block_has_the_scores_of_a_whole_vocabulary(files: tuple[Path, Path]) -> None:
    """Behind texts that grow, are cut and are edited: for the first tokens and for those that were read."""
    chance, text, read = random.Random(1), [5, 6, 7], set(range(FIRST_N))
    with blocks(files, draft_vocabulary=True) as few, blocks(files, draft_vocabulary=False) as whole:
        for _ in range(30):
            text = text[: chance.randint(2, len(text))] + [chance.choice([*range(5, 39), 91]) for _ in range(9)]
            text, n = text[-200:], chance.randint(1, 7)
            found, expected = (block(each, text, n) for each in (few, whole))
            read |= set(text)
            assert [proposable(row) for row in found] == [sorted(read)] * n
            assert np.allclose(found[:, sorted(read)], expected[:, sorted(read)], atol=NOISE)


def test_a_block_after_a_text_of_other_tokens_has_all_scores(files: tuple[Path, Path]) -> None:
    """Until these are known."""
    text = [*range(60, 90)]
    with blocks(files, draft_vocabulary=True) as few, blocks(files, draft_vocabulary=False) as whole:
        found, expected = (block(each, text, 3) for each in (few, whole))
        assert np.allclose(found, expected, atol=NOISE)
        assert proposable(block(few, text * 6, 1)[0]) == [*range(FIRST_N), *text]


def test_blocks_of_several_texts_have_the_scores_of_each_alone(files: tuple[Path, Path]) -> None:
    with blocks(files, draft_vocabulary=True, sequences=2) as few, blocks(files, draft_vocabulary=False) as whole:
        hidden = [np.random.default_rng(n).standard_normal((4, 3 * WIDTH), np.float32) for n in (0, 1)]
        few[1].answer([BlockQuestion(n, 0, each, (5, 6, 7, 8)) for n, each in enumerate(hidden)])
        first, second = few[1].answer([BlockQuestion(n, 4, None, (9,), 2 + n) for n in (0, 1)])
        for n, found in enumerate((first, second)):
            whole[1].inject(hidden[n], 0, (5, 6, 7, 8))
            expected = whole[1].guess(9, 4, 2 + n)
            assert found is not None
            assert found.scores.shape == expected.scores.shape
            assert np.allclose(found.scores[:, :FIRST_N], expected.scores[:, :FIRST_N], atol=NOISE)


@pytest.mark.parametrize("depth", [1, 3, 7])
def test_replies_with_a_blocks_draft_vocabulary_are_those_without(files: tuple[Path, Path], depth: int) -> None:
    """Greedily, with proposals of which some are accepted."""
    chance, accepted_n = random.Random(3), 0
    with blocks(files, draft_vocabulary=True) as (target, _, model):
        for _ in range(12):
            prompt = [chance.randrange(4, 90) for _ in range(chance.randint(2, 40))]
            said = []
            for drafters in ([], [DFlashDrafter(model)]):
                request = Request(prompt, Greedy(), SeededRng(0), FixedDepth(depth), max_tokens=30)
                events = generate(target, drafters, request, Cancellation())
                rounds = [event for event in events if isinstance(event, Round)]
                assert not any(round_.failures for round_ in rounds)
                said.append([token.id for round_ in rounds for token in round_.tokens])
                accepted_n += sum(token.drafter == "dflash" for round_ in rounds for token in round_.tokens)
            assert said[0] == said[1]
    assert accepted_n


@pytest.mark.parametrize(
    "head",
    [
        TinyHead("dflash", own_output=True),
        TinyHead("dflash", part=(3, 40, 97), own_output=True),
        TinyHead("dflash", own_embedding=True),
        TinyHead("dflash", markov_rank=4),
    ],
)
def test_heads_with_an_output_of_their_own_keep_it(files: tuple[Path, Path], tmp_path: Path, head: TinyHead) -> None:
    """Nor can DSpark's chain go without scores."""
    path = write_head(tmp_path / "head.gguf", head)
    with blocks((files[0], path), draft_vocabulary=True, dspark=head.markov_rank > 0) as opened:
        found = proposable(block(opened, [5, 6, 7, 50], 1)[0])
        assert found == list(head.part or range(N_VOCAB))


def test_a_block_head_whose_scores_are_no_numbers_is_loaded(files: tuple[Path, Path], tmp_path: Path) -> None:
    damaged = spoiled(files[1], tmp_path, "output_norm.weight")
    with blocks((files[0], damaged), draft_vocabulary=True) as opened, pytest.raises(ModelFileError, match="numbers"):
        block(opened, [5, 6, 7], 1)


def test_a_head_that_does_not_multiply_with_the_matrix_is_loaded_whole(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where scores are scaled; or its graph does not have the final states."""
    right = DraftVocabulary.scores
    for owner, name, other in (
        (DraftVocabulary, "scores", lambda *given: 1.2 * right(*given)),
        (early_end, "_STATES", b"another name"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, other)
            with blocks(files, draft_vocabulary=True) as opened:
                assert len(proposable(block(opened, [5, 6, 7], 1)[0])) == N_VOCAB


def test_a_device_that_could_rank_is_not_asked_to(files: tuple[Path, Path]) -> None:
    """llama.cpp computes no scores for it."""
    with blocks(files, draft_vocabulary=True, ranked_on_device=True) as (target, head, model):
        assert not head.rank(on=True)
        target.logits([5, 6], 0)
        assert model.likeliest([5, 6, 7]) is None
