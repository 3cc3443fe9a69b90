"""Leaving the scores on the device: what comes over is the best of them, and nothing else changes."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from localspec.base.errors import ModelFileError
from localspec.engine.backends.llama.device_ranking import KEPT_N, DeviceRanking
from localspec.engine.backends.llama.load import LoadSettings, ranks_on_device
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.native_views import NativeViews
from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.cancel import Cancellation
from localspec.engine.model import Likeliest, Ranking
from localspec.engine.sampling import guesses
from localspec.engine.settings import Sampling
from tests.builtin import DRAFT, ON_GPU, ROUNDING
from tests.tiny_models import write_tiny

NOISE = 0.05 * ROUNDING
SAMPLINGS = {
    "greedy": Sampling(temperature=0.0),
    "balanced": Sampling(0.8, 40, 0.95, 0.05),
    "few": Sampling(1.5, 3, 1.0, 0.0),
    "penalties": Sampling(0.8, 40, 0.95, 0.0, repeat_penalty=1.3),
    "xtc": Sampling(1.0, 20, 1.0, 0.0, xtc_probability=0.5),
}


def open_draft(*, ranked: bool | None, n_vocab: int | None = None) -> LlamaModel:
    settings = LoadSettings(DRAFT, 17, 512, threads=1, ranked_on_device=ranked)
    return LlamaModel.open(settings, Cancellation(), n_vocab=n_vocab)


@pytest.fixture
def make() -> Iterator[Callable[..., LlamaModel]]:
    """Opens models that are closed in the end."""
    opened: list[LlamaModel] = []

    def make(*, ranked: bool | None, n_vocab: int | None = None) -> LlamaModel:
        opened.append(open_draft(ranked=ranked, n_vocab=n_vocab))
        return opened[-1]

    yield make
    for model in opened:
        model.close()


def text(n: int, seed: int = 0) -> list[int]:
    return [random.Random(seed).randrange(10, 2000) for _ in range(n)]


def few_of(model: LlamaModel, context: Sequence[int]) -> Likeliest:
    few = model.likeliest(context)
    assert few is not None
    return few


def test_the_likeliest_are_the_best_of_all_scores(make: Callable[..., LlamaModel]) -> None:
    ranked, plain = make(ranked=True), make(ranked=False)
    for n in (1, 2, 40):
        row = plain.logits(text(n), 1)[0]
        few = few_of(ranked, text(n))
        assert len(few.ids) == len(few.scores) == KEPT_N
        assert (np.diff(few.ids) > 0).all()
        assert np.array_equal(few.scores, row[few.ids])
        left_out = np.delete(row, few.ids)
        assert left_out.max() <= few.scores.min()


def test_asking_either_way_in_any_order_gives_what_asking_one_way_gives(make: Callable[..., LlamaModel]) -> None:
    """Contexts grow, are cut and change; full rows come after ranked ones and the other way round."""
    both, plain, ranked = make(ranked=True), make(ranked=False), make(ranked=True)
    dice, context = random.Random(5), text(30)
    asked = {True: 0, False: 0}
    for step in range(60):
        context = [*context[: dice.randint(1, len(context))], *text(dice.randint(0, 4), seed=step)]
        rank = dice.random() < 0.6
        asked[rank] += 1
        if rank:
            few, expected = few_of(both, context), few_of(ranked, context)
            assert ON_GPU or np.array_equal(few.ids, expected.ids)
            least = min(few.scores.min(), expected.scores.min())
            for some, others in ((few, expected), (expected, few)):
                theirs = dict(zip(others.ids.tolist(), others.scores.tolist(), strict=True))
                # On a GPU one of the last may be there, or not, by rounding.
                same = [theirs.get(token, least) for token in some.ids.tolist()]
                assert np.allclose(some.scores, same, atol=NOISE)
        else:
            last = dice.randint(0, min(4, len(context)))
            assert np.allclose(both.logits(context, last), plain.logits(context, last), atol=NOISE)
        assert both.held(context) == len(context)
    assert min(asked.values()) > 10


@pytest.mark.parametrize("name", SAMPLINGS)
def test_a_guess_from_the_likeliest_is_the_choice_from_all(make: Callable[..., LlamaModel], name: str) -> None:
    """Bit for bit, where no filter would let through more than are kept."""
    ranked, plain = make(ranked=True), make(ranked=False)
    for seed in range(5):
        context = text(20, seed)
        sampler = make_sampler(SAMPLINGS[name], plain.vocab.n_vocab, plain.vocab, context)
        assert guesses(sampler)
        dist, guess = sampler.dist(plain.logits(context, 1)[0]), sampler.guess(few_of(ranked, context))
        assert np.array_equal(dist.ids, guess.ids)
        assert np.array_equal(dist.probs, guess.probs)


def test_without_filters_a_guess_is_the_law_of_those_kept(make: Callable[..., LlamaModel]) -> None:
    ranked, plain = make(ranked=True), make(ranked=False)
    open_ended = make_sampler(Sampling(1.0, 0, 1.0, 0.0), plain.vocab.n_vocab)
    assert guesses(open_ended)
    guess, dist = open_ended.guess(few_of(ranked, text(9))), open_ended.dist(plain.logits(text(9), 1)[0])
    assert len(guess.ids) == KEPT_N < len(dist.ids)
    shares = np.array([dist.prob(int(token)) for token in guess.ids])
    assert np.allclose(guess.probs, shares / shares.sum(), rtol=1e-5)


def test_grammars_and_mirostat_do_not_guess() -> None:
    """The one may rule out all that is kept, the other measures what is not."""
    model = open_draft(ranked=False)
    for settings in (Sampling(grammar="root ::= [a-z]+"), Sampling(mirostat=2)):
        assert not guesses(make_sampler(settings, model.vocab.n_vocab, model.vocab))
    model.close()


def test_tokens_that_the_target_does_not_have_are_left_out(make: Callable[..., LlamaModel]) -> None:
    few = few_of(make(ranked=True, n_vocab=1000), text(12))
    assert few.ids.max() < 1000
    assert np.array_equal(few.scores, make(ranked=False).logits(text(12), 1)[0][few.ids])


def test_a_processor_is_not_asked_by_itself(make: Callable[..., LlamaModel]) -> None:
    """And neither is a device about so few tokens as this one has."""
    model = make(ranked=None)
    assert isinstance(model, Ranking)
    assert model.likeliest(text(5)) is None


@pytest.mark.parametrize(
    ("layers", "n_vocab", "yes"),
    [("33/33", 151_936, True), ("33/33", 2048, False), ("32/33", 151_936, False), ("0/33", 151_936, False)],
)
def test_a_device_ranks_many_scores_where_it_computes_them(layers: str, n_vocab: int, yes: bool) -> None:
    """With the last layer on the CPU the scores are there as well."""

    class Library:
        def llama_model_get_vocab(self, model: object) -> None: ...

        def llama_vocab_n_tokens(self, vocab: object) -> int:
            return n_vocab

    said = ["x: using device CUDA0 (NVIDIA H200) (id) - 99 MiB free", f"y: offloaded {layers} layers to GPU"]
    assert ranks_on_device(Library(), None, said) is yes
    assert not ranks_on_device(Library(), None, [])


def test_a_device_that_cannot_rank_is_asked_once(
    make: Callable[..., LlamaModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, plain = make(ranked=True), make(ranked=False)
    asked: list[int] = []

    def none_kept(context: object, index: int) -> int:
        asked.append(index)
        return 0

    monkeypatch.setattr(native().c, "llama_get_sampled_candidates_count_ith", none_kept)
    assert [model.likeliest(text(n)) for n in (5, 6)] == [None, None]
    assert len(asked) == 1
    assert np.allclose(model.logits(text(6), 2), plain.logits(text(6), 2), atol=NOISE)


def test_tokens_that_cannot_be_are_no_error(make: Callable[..., LlamaModel], monkeypatch: pytest.MonkeyPatch) -> None:
    """A model may leave fewer tokens than are kept: minus infinity is a score, as long as not all have it."""
    model = make(ranked=True)
    scores = np.full(KEPT_N, -np.inf, np.float32)
    scores[7] = 1.5
    few = Likeliest(np.arange(KEPT_N, dtype=np.int64), scores)
    monkeypatch.setattr(DeviceRanking, "read", lambda self, index: few)
    assert model.likeliest(text(5)) is few


def test_one_place_may_hold_numbers_of_another_type_later() -> None:
    """llama.cpp lays out its results anew where they need more room."""
    room, views = (ctypes.c_int32 * 3)(1, 2, 3), NativeViews()
    floats, numbers = (ctypes.cast(room, ctypes.POINTER(kind)) for kind in (ctypes.c_float, ctypes.c_int32))
    assert views.of(floats, 1, 3).dtype == np.float32
    assert views.of(numbers, 1, 3).tolist() == [[1, 2, 3]]


def test_scores_that_are_not_numbers_are_an_error(tmp_path_factory: pytest.TempPathFactory) -> None:
    """And are not left in the cache."""

    def spoil(name: str, values: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> None:
        if name == "output.weight":
            values[:] = np.nan

    path = write_tiny(tmp_path_factory.mktemp("nan") / "nan.gguf", "llama", spoil=spoil)
    model = LlamaModel.open(LoadSettings(path, 1, 64, threads=1, ranked_on_device=True), Cancellation())
    with pytest.raises(ModelFileError, match="not numbers"):
        model.likeliest([1, 2, 3])
    assert model.held([1, 2, 3]) == 0
    model.close()
