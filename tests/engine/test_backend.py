"""The llama.cpp backend against the laws of ``Model``, and against its own promises."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localspec.base.errors import CapacityError, ModelFileError
from localspec.engine.backends.llama import short_context
from localspec.engine.backends.llama.load import CACHE_TYPES, LoadSettings
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.report import describe_device
from localspec.engine.backends.llama.skipping import SkippingLlama
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.model import Model, common_prefix
from tests.builtin import DRAFT, HAS_AVX512, NOISE, TARGET, open_target
from tests.fakes import TableModel, letters

COARSENESS = {
    "f32": (0.0, 0.0),
    "f16": (0.0, 0.03),
    "bf16": (0.001, 0.05),
    "q8_0": (0.002, 0.05),
    "q5_1": (0.02, 0.15),
    "q5_0": (0.02, 0.15 if HAS_AVX512 else 0.18),
    "q4_1": (0.05, 0.3),
    "q4_0": (0.05, 0.3),
    "iq4_nl": (0.05, 0.3),
}
"""Between what a cache's type moves scores, as a share of their spread: a quarter of it with four bits."""


@pytest.fixture(scope="module")
def cancel() -> Cancellation:
    return Cancellation()


@pytest.fixture(scope="module")
def llama(cancel: Cancellation) -> Iterator[LlamaModel]:
    model = open_target(cancel)
    yield model
    model.close()


@pytest.fixture(scope="module")
def padded(cancel: Cancellation) -> Iterator[LlamaModel]:
    model = open_target(cancel)
    padded_n = {1: 4, 2: 4, 3: 4, 5: 8, 9: 12}
    model.pad(lambda n: padded_n.get(n, n))
    yield model
    model.close()


@pytest.fixture(scope="module")
def skipping(cancel: Cancellation) -> Iterator[SkippingLlama]:
    model = SkippingLlama.open(LoadSettings(TARGET, 17), cancel)
    yield model
    model.close()


@pytest.fixture
def with_short(cancel: Cancellation, monkeypatch: pytest.MonkeyPatch) -> Iterator[LlamaModel]:
    """With a context for short texts, which end at 14 tokens here."""
    monkeypatch.setattr(short_context, "SHORT_N", 14)
    monkeypatch.setattr(short_context, "_BACK_N", 10)
    model = LlamaModel.open(LoadSettings(TARGET, 17, flash_attn=False, short_fused=True), cancel)
    assert model.loaded.short
    yield model
    model.close()


@pytest.fixture(params=["table", "llama", "padded", "skipping", "with_short"])
def model(request: pytest.FixtureRequest) -> Model:
    if request.param == "table":
        return TableModel(letters(20))
    found: Model = request.getfixturevalue(request.param)
    return found


def tokens(n: int, seed: int = 0, n_vocab: int = 20) -> list[int]:
    return [random.Random(seed).randrange(4, n_vocab) for _ in range(n)]


def fresh(model: LlamaModel) -> LlamaModel:
    """The same model holding nothing: an unrelated context has pushed out all else."""
    model.logits([1], 0)
    return model


class TestSkipping:
    """A model that was told to leave out the middle of a text."""

    @pytest.fixture
    def text(self, skipping: SkippingLlama) -> list[int]:
        """200 tokens, of which it has read the first and the latest."""
        chance = random.Random(7)
        text = [chance.randrange(4, 20) for _ in range(200)]
        fresh(skipping)
        skipping.skip(text, 50)
        skipping.logits(text, 0)
        return text

    def test_its_scores_are_those_of_what_is_left(
        self, skipping: SkippingLlama, llama: LlamaModel, text: list[int]
    ) -> None:
        """Of the text as it was and as it grows."""
        for context in (text, [*text, 5, 6, 7]):
            left = [*context[:4], *context[150:]]
            for last in (1, 3):
                assert np.allclose(skipping.logits(context, last), llama.logits(left, last), atol=NOISE)

    def test_what_is_left_out_need_not_be_read(self, skipping: SkippingLlama, text: list[int]) -> None:
        assert skipping.held(text) == 200
        assert len(skipping.held_tokens) == 54
        assert skipping.held([*text, 5, 6]) == 200
        assert skipping.held([*text[:180], 4, 5]) >= 180

    def test_going_back_it_keeps_the_latest_as_well(self, skipping: SkippingLlama, text: list[int]) -> None:
        """As after a reply, whose refused proposals are forgotten."""
        skipping.logits([*text, 5, 6, 7], 1)
        skipping.go_back([*text, 5])
        assert list(skipping.held_tokens) == [*text[:4], *text[150:], 5]

    def test_another_text_is_read_whole(self, skipping: SkippingLlama, llama: LlamaModel, text: list[int]) -> None:
        """An edit before the window moves it; a shorter text has no place for it."""
        for other in ([9, *text], text[:100], tokens(220, seed=3)):
            assert skipping.held(other) <= 5
            assert np.allclose(skipping.logits(other, 1), llama.logits(other, 1), atol=NOISE)


class TestEveryModel:
    """What the engine relies on, for the table model of the tests as for the real one."""

    def test_rows_have_the_shape_asked_for(self, model: Model) -> None:
        """logits(context, last) gives (last, n_vocab), also for last = 0."""
        for last in (0, 1, 5):
            assert model.logits(tokens(9), last).shape == (last, model.vocab.n_vocab)

    def test_it_is_pure(self, model: Model) -> None:
        """Whatever was asked before, the same question has the same answer: the cache is nobody's business."""
        asked = [tokens(30), tokens(30)[:20], tokens(12, seed=1), tokens(30)[:25] + tokens(5, seed=2), tokens(30)]
        for order in (asked, asked[::-1]):
            for context in order:
                row = model.logits(context, 1)[0].copy()
                model.logits(tokens(3, seed=9), 0)
                assert np.allclose(row, model.logits(context, 1)[0], atol=NOISE)

    def test_each_row_is_the_answer_to_its_prefix(self, model: Model) -> None:
        """Row i of the last n is what the context without the n - 1 - i tokens behind it gives."""
        context = tokens(24)
        rows = model.logits(context, 6).copy()
        for i in range(6):
            alone = model.logits(context[: 24 - 5 + i], 1)[0]
            assert np.allclose(rows[i], alone, atol=NOISE)

    def test_rows_of_what_is_held_are_given_again(self, model: Model) -> None:
        """Asking twice for the same rows gives them twice, though nothing new is to be evaluated."""
        first = model.logits(tokens(10), 4).copy()
        assert np.allclose(first, model.logits(tokens(10), 4), atol=NOISE)

    def test_held_is_the_common_prefix(self, model: Model) -> None:
        """After an evaluation everything up to the first difference needs no evaluation any more."""
        context = tokens(20)
        model.logits(context, 1)
        assert model.held(context) == 20
        assert model.held(context[:7]) == 7
        assert model.held([*context, 5, 6]) == 20
        assert model.held([*context[:11], context[11] + 1, *context[12:]]) == 11
        assert model.held(tuple(context)) == 20

    def test_a_shorter_context_is_forgotten_from_its_end_on(self, model: Model) -> None:
        """A rewind leaves nothing of the discarded tokens behind."""
        context = tokens(20)
        model.logits(context, 1)
        expected = model.logits([*context[:10], 4, 5], 1)[0].copy()
        assert model.held(context) == 10 + (context[10] == 4)
        model.logits(tokens(3, seed=9), 0)
        assert np.allclose(expected, model.logits([*context[:10], 4, 5], 1)[0], atol=NOISE)


class TestLlamaModel:
    def test_a_context_longer_than_a_batch_is_read_in_pieces(self) -> None:
        """The pieces meet without a seam, also where the rows asked for begin near one."""
        with closing(LlamaModel.open(LoadSettings(TARGET, 17, batch_tokens=64), Cancellation())) as llama:
            for length in (63, 64, 65, 72, 150):
                context = tokens(length, seed=length)
                rows = fresh(llama).logits(context, 12).copy()
                fresh(llama)
                for end in range(12, length - 12, 12):
                    llama.logits(context[:end], 0)
                assert np.allclose(rows, llama.logits(context, 12), atol=NOISE)

    @pytest.mark.parametrize(("length", "last"), [(5, 6), (5, -1), (30, 18), (1025, 1)])
    def test_a_request_that_would_end_the_process_is_refused(self, llama: LlamaModel, length: int, last: int) -> None:
        """More rows than positions, than prepared, or a context too long: llama.cpp would abort."""
        with pytest.raises(ValueError, match=r"asked for|prepared"):
            llama.logits(tokens(length), last)

    def test_a_closed_model_says_so(self) -> None:
        """Closing twice is harmless; asking afterwards is not passed on to freed memory."""
        model = open_target(n_ctx=64)
        model.close()
        model.close()
        with pytest.raises(ValueError, match="closed"):
            model.logits([1], 1)

    def test_a_memory_that_cannot_go_back_is_read_again(
        self, llama: LlamaModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Recurrent models refuse to forget single tokens; the answer is right all the same."""
        context = tokens(40)
        expected = fresh(llama).logits(context, 2).copy()
        llama.logits([*context, 7, 8], 1)
        monkeypatch.setattr(native().c, "llama_memory_seq_rm", lambda *_: False)
        assert np.allclose(expected, llama.logits(context, 2), atol=NOISE)

    def test_scores_past_the_targets_vocabulary_are_left_out(self) -> None:
        """A draft with a longer vocabulary proposes nothing that the target has no number for."""
        settings = LoadSettings(DRAFT, 1, 64)
        model = LlamaModel.open(settings, Cancellation(), n_vocab=100)
        assert model.logits([4, 5], 1).shape == (1, 100)
        model.close()

    def test_tokens_a_draft_does_not_know_do_no_harm(self) -> None:
        """Padding of the target's vocabulary that the draft lacks is read as some other token."""
        model = LlamaModel.open(LoadSettings(DRAFT, 1, 64), Cancellation())
        for unknown in (0, 3):
            assert np.isfinite(model.logits([4, model.vocab.n_vocab + unknown, 5], 1)).all()
        model.close()

    def test_going_back_forgets_what_is_not_in_the_context(self, llama: LlamaModel) -> None:
        llama.logits(tokens(10), 1)
        llama.go_back([*tokens(6), 9999])
        assert list(llama.held_tokens) == tokens(6)

    @pytest.mark.parametrize("at", [0, 1, 2])
    def test_a_row_that_is_not_of_numbers_is_refused(
        self, llama: LlamaModel, monkeypatch: pytest.MonkeyPatch, at: int
    ) -> None:
        """Whichever of those asked for it is; and nothing that may have spoiled it is kept."""
        rows = np.zeros((3, llama.vocab.n_vocab), dtype=np.float32)
        rows[at, 7] = np.nan
        with monkeypatch.context() as patch:
            patch.setattr(llama, "_scores", lambda first, rows_n: rows)
            with pytest.raises(ModelFileError, match="not numbers"):
                llama.logits(tokens(5), 3)
        assert list(llama.held_tokens) == []

    def test_the_context_is_no_longer_than_asked_for(self) -> None:
        """llama.cpp rounds a context up; nobody is told so, lest a test of the limit miss it."""
        model = open_target(n_ctx=40)
        assert model.n_ctx == 40
        model.close()

    def test_unasked_the_context_is_what_the_model_was_trained_for(self, llama: LlamaModel) -> None:
        assert llama.n_ctx == 1024

    def test_common_prefix_agrees_with_counting(self) -> None:
        """The bisection finds the first difference wherever it lies."""
        for a, b in itertools.product(itertools.product((1, 2), repeat=4), repeat=2):
            expected = next((i for i in range(4) if a[i] != b[i]), 4)
            assert common_prefix(list(a), list(b)) == expected
            assert common_prefix(list(a), [*b, 3]) == expected
        text = list(range(200))
        for at in range(200):
            assert common_prefix(text, [*text[:at], -1, *text[at + 1 :], 7]) == at
            assert common_prefix(text[:at], text) == at


class TestCancellation:
    def test_a_stop_signal_ends_an_evaluation_from_within(self, cancel: Cancellation, llama: LlamaModel) -> None:
        """A signal set by another thread while llama.cpp computes raises Cancelled; the model works on after it."""
        context = tokens(400)
        expected = fresh(llama).logits(context, 1).copy()
        computing = threading.Event()

        def stop() -> None:
            computing.wait()
            cancel.set()

        stopper = threading.Thread(target=stop)
        stopper.start()
        with pytest.raises(Cancelled):  # noqa: PT012 -- only the evaluation can raise it, sooner or later
            while True:
                computing.set()
                fresh(llama).logits(context, 1)
        stopper.join()
        cancel.clear()
        assert np.allclose(expected, llama.logits(context, 1), atol=NOISE)

    def test_what_was_evaluated_before_the_signal_stays(
        self, cancel: Cancellation, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An abort in the second batch leaves exactly the first in the cache."""
        llama, context = LlamaModel.open(LoadSettings(TARGET, 1, batch_tokens=64), cancel), tokens(120, seed=5)
        expected = llama.logits(context, 1).copy()
        fresh(llama)
        decode = native().c.llama_decode

        def decode_then_stop(*arguments: Any) -> int:
            code: int = decode(*arguments)
            cancel.set()
            return code

        monkeypatch.setattr(native().c, "llama_decode", decode_then_stop)
        with pytest.raises(Cancelled):
            llama.logits(context, 1)
        monkeypatch.undo()
        cancel.clear()
        assert llama.held(context) == 64
        assert np.allclose(expected, llama.logits(context, 1), atol=NOISE)
        llama.close()

    def test_a_load_can_be_cancelled(self) -> None:
        """The signal is looked at between two tensors; nothing stays behind."""
        cancel = Cancellation()
        seen: list[float] = []

        def progress(fraction: float) -> None:
            seen.append(fraction)
            cancel.set()

        with pytest.raises(Cancelled):
            LlamaModel.open(LoadSettings(TARGET, 1), cancel, progress)
        assert len(seen) < 5


class TestLoading:
    def test_progress_grows_to_one(self) -> None:
        seen: list[float] = []
        LlamaModel.open(LoadSettings(TARGET, 1, 64), Cancellation(), seen.append).close()
        assert seen == sorted(seen)
        assert seen[-1] == 1.0

    def test_a_file_that_is_no_model_is_refused_with_the_reason(self, tmp_path: Path) -> None:
        """llama.cpp tells only its log; the sentence quotes it."""
        file = tmp_path / "letter.gguf"
        file.write_text("Dear Sir or Madam")
        with pytest.raises(ModelFileError, match=r"letter\.gguf: invalid magic"):
            LlamaModel.open(LoadSettings(file, 1), Cancellation())

    def test_a_context_that_llama_cpp_refuses_is_a_sentence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(native().c, "llama_init_from_model", lambda *_: None)
        with pytest.raises(CapacityError, match="context of 100 tokens"):
            open_target(n_ctx=100)

    def test_nothing_reaches_the_terminal(self, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """Neither a load nor a failure writes to standard output or error."""
        open_target(n_ctx=64).close()
        (tmp_path / "bad.gguf").write_bytes(b"GGUF")
        with pytest.raises(ModelFileError):
            LlamaModel.open(LoadSettings(tmp_path / "bad.gguf", 1), Cancellation())
        assert capfd.readouterr() == ("", "")

    @pytest.mark.parametrize(
        ("lines", "words"),
        [
            ([], "CPU, 4 threads"),
            (["load_tensors: offloaded 7/7 layers to GPU"], "CPU, 4 threads"),
            (
                [
                    "x: using device CUDA0 (NVIDIA H200) (0000:01:00.0) - 99 MiB free",
                    "y: offloaded 33/33 layers to GPU",
                ],
                "CUDA0 (NVIDIA H200), 33/33 layers",
            ),
            (
                [
                    "x: using device Metal (Apple M3) (unknown id) - 99 MiB free",
                    "y: offloaded 20/33 layers to GPU",
                ],
                "Metal (Apple M3), 20/33 layers; CPU, 4 threads",
            ),
            (
                ["x: using device CUDA0 (NVIDIA H200) (id) - 99 MiB free", "y: offloaded 0/33 layers to GPU"],
                "CPU, 4 threads",
            ),
        ],
    )
    def test_the_device_is_told_truthfully(self, lines: list[str], words: str) -> None:
        """A GPU is named only if there is one and layers are on it."""
        assert describe_device(lines, 4) == words


class TestOptions:
    """What is asked for is in force, and what is in force is told."""

    def opened(self, max_outputs: int = 4, **wishes: Any) -> LlamaModel:
        return LlamaModel.open(LoadSettings(TARGET, max_outputs, 256, **wishes), Cancellation())

    @pytest.mark.parametrize("name", CACHE_TYPES)
    def test_every_cache_type_is_taken(self, name: str) -> None:
        """Each is in force for keys and values, and spoils the scores by as much as it is coarse, no more and no less.

        Over 16 rows, for single scores move a lot more than most.
        """
        exact, coarse = (self.opened(max_outputs=16, cache_type_k=kind, cache_type_v=kind) for kind in ("f32", name))
        context = exact.vocab.tokenize("Count from 1 to 20 and tell me what a draft model is. " * 3, special=False)
        assert (coarse.cache_type_k, coarse.cache_type_v) == (name, name)
        scores = exact.logits(context, 16)
        error = coarse.logits(context, 16) - scores
        relative = float(np.sqrt(np.mean(error**2) / np.var(scores, axis=1).mean()))
        least, most = COARSENESS[name]
        assert least <= relative <= most
        exact.close()
        coarse.close()

    @pytest.mark.parametrize(("wish", "in_force"), [(None, True), (True, True), (False, False)])
    def test_flash_attention_is_as_asked(self, llama: LlamaModel, wish: bool | None, in_force: bool) -> None:
        model = self.opened(flash_attn=wish)
        assert model.flash_attn is in_force
        assert np.allclose(fresh(llama).logits(tokens(30), 1), model.logits(tokens(30), 1), atol=NOISE)
        model.close()

    @pytest.mark.parametrize(("mmap", "mlock"), [(None, False), (True, False), (False, False), (True, True)])
    def test_weights_are_mapped_or_not(self, mmap: bool | None, mlock: bool) -> None:
        with native().log.heard() as lines:
            self.opened(mmap=mmap, mlock=mlock).close()
        said = "\n".join(line for _, line in lines)
        expected = ("none" if mmap is False else "mmap") + ("+mlock" if mlock else "")
        assert f"(load_mode = {expected})" in said

    def test_weights_can_stay_where_they_are(self, llama: LlamaModel) -> None:
        """Not copied into the CPU's own order, which some CPUs have and some have not."""
        with native().log.heard() as lines:
            model = self.opened(devices=(), repack=False)
        buffers = [line for _, line in lines if "model buffer size" in line]
        assert buffers
        assert all("CPU_Mapped" in line for line in buffers)
        assert np.allclose(fresh(llama).logits(tokens(30), 1), model.logits(tokens(30), 1), atol=0.3)
        model.close()

    def test_no_device_is_the_cpu(self) -> None:
        model = self.opened(devices=(), gpu_layers=99, threads=2)
        assert model.device == "CPU, 2 threads"
        model.close()

    def test_a_required_gpu_that_took_nothing_is_a_refusal(self) -> None:
        """llama.cpp says "offloaded 7/7 layers" all the same."""
        with pytest.raises(CapacityError, match="put no layer"):
            self.opened(require_gpu=True, devices=())

    def test_threads_can_be_changed_while_loaded(self) -> None:
        model = self.opened(devices=(), threads=1)
        row = model.logits(tokens(9), 1).copy()
        model.set_threads(2)
        assert (model.threads, model.device) == (2, "CPU, 2 threads")
        fresh(model)
        assert np.allclose(row, model.logits(tokens(9), 1), atol=NOISE)
        with pytest.raises(ValueError):
            model.set_threads(0)
        model.close()


class TestVocab:
    @pytest.mark.parametrize("text", ["Hello, world", "ä ß € 😀 \n\t x", "", " leading", "<|user|> as text"])
    def test_text_survives(self, llama: LlamaModel, text: str) -> None:
        """The pieces of a text's tokens are its bytes, whatever the characters."""
        ids = llama.vocab.tokenize(text, special=False)
        assert b"".join(map(llama.vocab.piece, ids)) == text.encode()

    def test_control_tokens_are_silent_in_a_reply_and_written_out_in_a_prompt(self, llama: LlamaModel) -> None:
        vocab = llama.vocab
        (user,) = vocab.tokenize("<|user|>", special=True)
        assert vocab.is_control(user)
        assert vocab.piece(user) == b""
        assert vocab.source(user) == b"<|user|>"
        assert len(vocab.tokenize("<|user|>", special=False)) > 1

    def test_the_end_of_a_turn_is_known(self, llama: LlamaModel) -> None:
        vocab = llama.vocab
        assert [token for token in range(vocab.n_vocab) if vocab.is_end(token)] == vocab.tokenize(
            "<|end|>", special=True
        )

    @pytest.mark.parametrize("ask", ["piece", "source", "is_end", "is_control"])
    @pytest.mark.parametrize("token", [-1, 1_000_000])
    def test_a_token_that_does_not_exist_raises(self, llama: LlamaModel, ask: str, token: int) -> None:
        """In Python, that is: llama.cpp would end the process."""
        question: Callable[[int], object] = getattr(llama.vocab, ask)
        with pytest.raises(IndexError):
            question(token)


def test_scores_are_read_where_llama_cpp_keeps_them(llama: LlamaModel) -> None:
    """Two answers lie in the same memory, so neither is a copy; that is why rows are good until the next call only."""
    first = llama.logits(tokens(9), 1)
    assert np.shares_memory(first, llama.logits(tokens(12), 1))


def test_one_batch_serves_all_evaluations(llama: LlamaModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native().c, "llama_batch", None)
    for n, last in ((30, 0), (31, 1), (36, 4)):
        assert len(llama.logits(tokens(n, seed=n), last)) == last


def test_padding_changes_no_scores_and_stays_in_no_cache(llama: LlamaModel, padded: LlamaModel) -> None:
    context = tokens(40)
    for end, last in ((20, 0), (21, 1), (24, 2), (33, 4), (36, 3), (30, 1), (40, 1)):
        ours, theirs = padded.logits(context[:end], last).copy(), llama.logits(context[:end], last)
        assert np.abs(ours - theirs).max(initial=0) < NOISE, (end, last)
        assert padded.held(context) == end


def test_a_few_tokens_are_read_one_by_one_where_that_pays(
    llama: LlamaModel, cancel: Cancellation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches of one shape, of which each gives scores; more tokens at once, and nothing else comes of it."""
    singly = LlamaModel.open(LoadSettings(TARGET, 17, read_singly=True), cancel)
    decode, shapes = native().c.llama_decode, []

    def noted(context: object, batch: Any) -> int:
        shapes.append((batch.n_tokens, sum(batch.logits[i] for i in range(batch.n_tokens))))
        return int(decode(context, batch))

    context = tokens(40)
    for end, last, expected in (
        (20, 1, [(20, 1)]),
        (22, 1, [(1, 1)] * 2),
        (26, 1, [(1, 1)] * 4),
        (31, 1, [(5, 1)]),
        (33, 0, [(2, 0)]),
        (36, 3, [(3, 3)]),
        (35, 1, [(1, 1)]),
        (38, 1, [(1, 1)] * 3),
    ):
        monkeypatch.setattr(native().c, "llama_decode", noted)
        shapes.clear()
        ours = singly.logits(context[:end], last).copy()
        assert shapes == expected, end
        monkeypatch.setattr(native().c, "llama_decode", decode)
        assert np.allclose(ours, llama.logits(context[:end], last), atol=NOISE)
        assert singly.held(context) == end
    singly.close()


def test_a_context_is_full_no_sooner_with_padding(padded: LlamaModel) -> None:
    context = tokens(padded.n_ctx)
    padded.logits(context[:-3], 0)
    for end in range(padded.n_ctx - 2, padded.n_ctx + 1):
        assert padded.logits(context[:end], 1).shape == (1, padded.vocab.n_vocab)
