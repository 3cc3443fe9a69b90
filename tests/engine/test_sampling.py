"""The law: every sampler has llama.cpp's own distribution, whatever is left out on the way to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from localspec.base.errors import LocalSpecError, ModelFileError, UsageError
from localspec.engine.backends.llama.candidates import GroupedScores
from localspec.engine.backends.llama.mirostat import MirostatSampler
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.dist import Dist
from localspec.engine.model import Logits
from localspec.engine.sampling import Greedy, Sampler, mixture
from localspec.engine.settings import BANNED, Sampling
from tests.engine.reference import assert_same, briefly, full_chain, law_of, left_in, list_of, reference
from tests.engine.vocabulary import builtin_vocab

N_VOCAB = 8192


@pytest.fixture(scope="module")
def vocab() -> Iterator[LlamaVocab]:
    with builtin_vocab() as vocab:
        yield vocab


def row_of(seed: int, n_vocab: int = N_VOCAB) -> Logits:
    """Scores as a model gives them: few high ones. Not to be written to."""
    row = np.random.default_rng(seed).normal(0, 3, n_vocab).astype(np.float32)
    row.flags.writeable = False
    return row


def choice(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


stateless = st.builds(
    Sampling,
    temperature=choice(0.0, 0.5, 0.8, 1.0, 3.0),
    top_k=choice(0, 1, 7, 40),
    top_p=choice(0.3, 0.95, 1.0),
    min_p=choice(0.0, 0.05, 0.3),
    typical_p=choice(0.2, 0.9, 1.0),
    top_n_sigma=choice(-1.0, 0.5, 2.0),
    xtc_probability=choice(0.0, 0.3, 1.0),
    xtc_threshold=choice(0.02, 0.1, 0.5),
    dynatemp_range=choice(0.0, 0.5, 2.0),
    dynatemp_exponent=choice(0.5, 1.0),
    logit_bias=choice((), ((3, 4.0), (8000, -2.0)), ((5, BANNED), (6, 30.0))),
)
penalties = st.fixed_dictionaries(
    {
        "repeat_last_n": choice(1, 5, 64),
        "repeat_penalty": choice(0.7, 1.0, 1.3),
        "frequency_penalty": choice(-0.5, 0.0, 0.8),
        "presence_penalty": choice(0.0, 5.0),
    }
)


def with_effect(settings: Sampling, **more: Any) -> Sampling:
    """With what would do nothing by itself left out."""
    defaults = Sampling()
    settings = replace(settings, **more)
    if not settings.xtc:
        settings = replace(settings, xtc_threshold=defaults.xtc_threshold)
    if not settings.dynatemp_range:
        settings = replace(settings, dynatemp_exponent=1.0)
    return settings if settings.penalises else replace(settings, repeat_last_n=64)


def well_defined(settings: Sampling) -> bool:
    """llama.cpp's typical-p adds up numbers that are none where tokens of no probability are left."""
    return settings.typical_p == 1 or (settings.top_n_sigma <= 0 and bool(settings.top_k))


ALONE: list[dict[str, Any]] = [
    {},
    {"top_k": 7},
    {"top_p": 0.5},
    {"min_p": 0.02},
    {"min_p": 0.02, "top_p": 0.9},
    {"min_p": 0.02, "typical_p": 0.6, "top_k": 60},
    {"min_p": 0.02, "top_n_sigma": 1.0},
    {"min_p": 0.02, "presence_penalty": 4.0},
    {"min_p": 0.02, "logit_bias": ((9, -3.0),)},
    {"top_n_sigma": 1.5},
    {"xtc_probability": 1.0, "xtc_threshold": 0.01},
    {"dynatemp_range": 0.5},
]


@pytest.mark.parametrize("one", ALONE, ids=repr)
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_each_sampler_by_itself(one: dict[str, Any], temperature: float) -> None:
    """With all others off, before and after the likeliest tokens were accepted."""
    settings = Sampling(**{"temperature": temperature, "top_k": 0, "top_p": 1.0, "min_p": 0.0, **one})
    for seed in range(5):
        row = (row_of(seed) / 2).astype(np.float32)
        path = [int(token) for token in np.argsort(-row)[:6]]
        sampler = make_sampler(settings, N_VOCAB)
        assert_same(sampler.dist(row), reference(settings, row))
        for token in path:
            sampler.accept(token)
        assert_same(sampler.dist(row), reference(settings, row, path))


@given(settings=stateless, seed=st.integers(0, 1000))
@examples(max_examples=150, deadline=None)
def test_the_law_is_that_of_llama_cpps_whole_chain(settings: Sampling, seed: int) -> None:
    """Without penalties, for any combination of samplers, on a row that may not be written to."""
    settings = with_effect(settings)
    if not well_defined(settings):
        return
    row = row_of(seed)
    sampler = make_sampler(settings, N_VOCAB)
    assert sampler.stateless
    assert sampler.fork() is sampler
    assert_same(sampler.dist(row), reference(settings, row))


@given(settings=stateless, more=penalties, seed=st.integers(0, 1000), data=st.data())
@examples(max_examples=150, deadline=None)
def test_penalties_see_what_was_accepted(settings: Sampling, more: dict[str, Any], seed: int, data: Any) -> None:
    """Along a path that likes to repeat the likeliest tokens the law is that of llama.cpp's chain after it."""
    settings = with_effect(settings, **more)
    if not well_defined(settings):
        return
    row = row_of(seed)
    best = np.argsort(-row)[:50].tolist()
    path = data.draw(st.lists(st.sampled_from(best) | st.integers(0, N_VOCAB - 1), max_size=80))
    sampler = make_sampler(settings, N_VOCAB)
    for token in path:
        sampler.accept(token)
    assert_same(sampler.dist(row), reference(settings, row, path))


DRY = Sampling(dry_multiplier=2.0, dry_base=1.5, dry_allowed_length=1, dry_penalty_last_n=12, top_k=5)


@given(seed=st.integers(0, 1000), temperature=choice(0.0, 0.8), data=st.data())
@examples(max_examples=60, deadline=None)
def test_dry_sees_what_was_accepted(seed: int, temperature: float, data: Any) -> None:
    """The same for DRY, whose sequences need few different tokens to repeat."""
    with builtin_vocab() as vocab:
        settings = with_effect(DRY, temperature=temperature)
        row = row_of(seed, vocab.n_vocab)
        path = data.draw(st.lists(st.sampled_from(np.argsort(-row)[:4].tolist()), max_size=20))
        sampler = make_sampler(settings, vocab.n_vocab, vocab)
        for token in path:
            sampler.accept(token)
        assert_same(sampler.dist(row), reference(settings, row, path, vocab))


def test_dry_penalises(vocab: LlamaVocab) -> None:
    """The test above has power: a repeated sequence does change the law."""
    row = row_of(1, vocab.n_vocab)
    best = int(row.argmax())
    first = make_sampler(DRY, vocab.n_vocab, vocab)
    again = first.fork()
    for token in (7, best, 9, 7):
        again.accept(token)
    assert again.dist(row).prob(best) < first.dist(row).prob(best)


@pytest.mark.parametrize("settings", [Sampling(repeat_penalty=1.5), Sampling(presence_penalty=3, temperature=0.0), DRY])
def test_the_prompt_counts_as_accepted(vocab: LlamaVocab, settings: Sampling) -> None:
    """As in llama.cpp: a sampler made after a prompt is one that was told of it."""
    row = row_of(3, vocab.n_vocab)
    prompt = [int(token) for token in np.argsort(-row)[[0, 1, 2, 0, 1, 2, 0, 1]]]
    sampler = make_sampler(settings, vocab.n_vocab, vocab)
    for token in prompt:
        sampler.accept(token)
    told = make_sampler(settings, vocab.n_vocab, vocab, prompt)
    assert_same(told.dist(row), reference(settings, row, prompt, vocab))
    assert_equal(told.dist(row), sampler.dist(row))


def assert_equal(a: Dist, b: Dist) -> None:
    assert np.array_equal(a.ids, b.ids)
    assert np.array_equal(a.probs, b.probs)


STATEFUL = [
    Sampling(repeat_penalty=1.3, frequency_penalty=0.2),
    Sampling(temperature=0.0, presence_penalty=2.0),
    DRY,
    Sampling(mirostat=1),
    Sampling(mirostat=2, mirostat_tau=2.0),
    Sampling(grammar='root ::= [a-z ]+ "." [0-9]+'),
    Sampling(temperature=0.0, grammar='root ::= [a-z ]+ "." [0-9]+'),
    Sampling(repeat_penalty=1.3, grammar="root ::= [a-z ]+", grammar_triggers=("[aeiou]",)),
]


def cursor(sampler: Sampler, rows: Sequence[Logits], seed: int) -> tuple[list[Dist], list[int]]:
    """A random path through the rows: what the sampler said, and what was accepted."""
    source = np.random.default_rng(seed)
    dists, path = [], []
    for row in rows:
        dists.append(sampler.dist(row))
        path.append(int(source.choice(dists[-1].ids, p=dists[-1].probs)))
        sampler.accept(path[-1])
    return dists, path


@pytest.mark.parametrize("settings", STATEFUL, ids=briefly)
def test_a_path_replayed_gives_the_same_laws(vocab: LlamaVocab, settings: Sampling) -> None:
    """And forks that wander off in between, anywhere at all, change nothing."""
    rows = [row_of(seed, vocab.n_vocab) for seed in range(12)]
    first = make_sampler(settings, vocab.n_vocab, vocab)
    assert not first.stateless
    dists, path = cursor(first, rows, 5)
    again = make_sampler(settings, vocab.n_vocab, vocab)
    source = np.random.default_rng(6)
    for row, dist, token in zip(rows, dists, path, strict=True):
        fork = again.fork()
        for _ in range(3):
            assert fork.dist(rows[0]).probs.sum() == pytest.approx(1)
            fork.accept(int(source.integers(vocab.n_vocab)))
        assert_equal(again.fork().dist(row), dist)
        assert_equal(again.dist(row), dist)
        again.accept(token)


def test_what_was_said_makes_room_for_what_was_not(vocab: LlamaVocab) -> None:
    """In the sampler and in its forks, whatever other forks were told: the two best of those not yet said."""
    row = row_of(1, vocab.n_vocab)
    ranked = np.argsort(-row)
    sampler = make_sampler(Sampling(top_k=2, presence_penalty=50.0, repeat_last_n=3), vocab.n_vocab, vocab)
    for said_n in range(4):
        elsewhere = sampler.fork()
        for _ in range(3):
            elsewhere.dist(row)
            elsewhere.accept(int(ranked[-1]))
        best = sorted(ranked[said_n : said_n + 2])
        assert sampler.fork().dist(row).ids.tolist() == best
        assert sampler.dist(row).ids.tolist() == best
        sampler.accept(int(ranked[said_n]))


@pytest.mark.parametrize("settings", STATEFUL, ids=briefly)
def test_a_drafts_shorter_row_will_do(vocab: LlamaVocab, settings: Sampling) -> None:
    """A draft may lack the padding at the end of the target's vocabulary."""
    dist = make_sampler(settings, vocab.n_vocab, vocab).dist(row_of(1, vocab.n_vocab - 100))
    assert dist.ids.max() < vocab.n_vocab - 100


class TestGreedy:
    """At temperature 0 the best score after everything that changes scores, and nothing else."""

    def test_ties_go_to_the_lowest_id(self) -> None:
        row = np.zeros(N_VOCAB, dtype=np.float32)
        row[[900, 100, 5000]] = 4.0
        assert make_sampler(Sampling(temperature=0.0, presence_penalty=1.0), N_VOCAB).dist(row).ids.tolist() == [100]
        assert Greedy().dist(row).ids.tolist() == [100]

    def test_a_bias_and_a_ban_move_the_best(self) -> None:
        row = row_of(2)
        first, second, *_ = (int(token) for token in np.argsort(-row))
        banned = Sampling(temperature=0.0, logit_bias=((first, BANNED),))
        raised = Sampling(temperature=0.0, logit_bias=((17, 100.0),))
        assert make_sampler(banned, N_VOCAB).dist(row).ids.tolist() == [second]
        assert make_sampler(raised, N_VOCAB).dist(row).ids.tolist() == [17]

    def test_nothing_to_change_needs_no_library(self) -> None:
        assert isinstance(make_sampler(Sampling(temperature=0.0, top_k=3, top_p=0.5), N_VOCAB), Greedy)

    def test_what_may_drop_the_best_is_not_passed_over(self) -> None:
        for settings in (Sampling(temperature=0.0, typical_p=0.2), Sampling(temperature=0.0, xtc_probability=1.0)):
            assert not isinstance(make_sampler(settings, N_VOCAB), Greedy)


def test_typical_tokens_are_chosen_among_those_that_are_left() -> None:
    """What another filter has ruled out has no chance, whose logarithm is no number."""
    row, settings = row_of(3), Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, top_n_sigma=1.0)
    left = make_sampler(settings, N_VOCAB).dist(row)
    surprise = -np.log(left.probs)
    order = np.argsort(np.abs(surprise - (left.probs * surprise).sum()))
    enough_n = int(np.searchsorted(np.cumsum(left.probs[order]), 0.5)) + 1
    typical = make_sampler(replace(settings, typical_p=0.5), N_VOCAB).dist(row)
    assert typical.ids.tolist() == sorted(left.ids[order[:enough_n]].tolist())


@pytest.mark.parametrize("best", [-30.0, 0.0, 40.0])
def test_what_has_just_the_share_is_among_those_that_have_it(best: float) -> None:
    """Rounding leaves nobody out."""
    row = np.array([best - 5, best + np.log(0.5), best, best + np.log(0.49)], dtype=np.float32)
    assert GroupedScores(row).within_share(0.5).tolist() == [1, 2]


@given(
    scores=st.lists(st.integers(-3, 3), min_size=64, max_size=400),
    k=st.integers(1, 3),
)
def test_the_most_likely_tokens_are_all_there(scores: list[int], k: int) -> None:
    """However many tie: what is left out scores less than k tokens that are in."""
    row = np.array(scores, dtype=np.float32)
    ids = GroupedScores(row).most_likely(k)
    if ids is None:
        assert 4 * k > len(row) // 32
        return
    assert (np.diff(ids) > 0).all()
    out = np.delete(row, ids)
    assert not len(out) or np.sort(row[ids])[-k] > out.max()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("at", [0, 4000, N_VOCAB + 5])
@pytest.mark.parametrize("settings", [Sampling(), Sampling(top_k=0), Sampling(mirostat=2)], ids=briefly)
def test_scores_that_are_not_numbers_are_refused(settings: Sampling, at: int, wrong: float) -> None:
    row = row_of(1, N_VOCAB + 6).copy()
    row[at] = wrong
    with pytest.raises(ModelFileError, match="not numbers"):
        make_sampler(settings, N_VOCAB + 6).dist(row)


@pytest.mark.parametrize(
    "settings", [Sampling(), Sampling(typical_p=0.5), Sampling(mirostat=1), Sampling(mirostat=2)], ids=briefly
)
def test_nothing_left_to_choose_is_an_error(settings: Sampling) -> None:
    everything = replace(settings, logit_bias=tuple((token, BANNED) for token in range(50)))
    with pytest.raises(UsageError, match="ruled out"):
        make_sampler(everything, 50).dist(row_of(1, 50))


@pytest.mark.parametrize("others", [Sampling(min_p=0.0), Sampling(mirostat=1), Sampling(mirostat=2)], ids=briefly)
@pytest.mark.parametrize("extreme", [{"temperature": 1e-40}, {"logit_bias": ((7, 3e38),)}])
def test_settings_that_no_score_can_hold_are_named_and_not_the_model(others: Sampling, extreme: dict[str, Any]) -> None:
    """Every score is a number until it is divided by a temperature next to 0, or by one below 1 with a huge bias."""
    with pytest.raises(UsageError, match="settings of the samplers"):
        make_sampler(replace(others, **extreme), 50).dist(row_of(1, 50))


def test_xtc_tosses_llama_cpps_coin() -> None:
    """The mixture is what llama.cpp's own XTC does, left to its own chance, four thousand times."""
    settings = Sampling(1.5, 8, 1.0, 0.0, xtc_probability=0.3, xtc_threshold=0.05)
    row, times = row_of(4, 100), 4000
    chain = full_chain(settings, settings.xtc_probability, len(row), None)
    mean = np.zeros(len(row))
    for _ in range(times):
        tokens, view = list_of(row)
        chain.apply(view)
        for token, probability in law_of(left_in(tokens, view)).items():
            mean[token] += probability / times
    dist = make_sampler(settings, len(row)).dist(row)
    assert len(dist.ids) == 8
    for token, probability in zip(dist.ids, dist.probs, strict=True):
        assert mean[token] == pytest.approx(probability, abs=4 * 0.5 / times**0.5)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("tau", [1.0, 5.0])
def test_mirostat_follows_llama_cpps(version: int, tau: float) -> None:
    """llama.cpp's draws are accepted: at every step the tokens kept are its own, and so is their law."""
    c = native().c
    settings = Sampling(temperature=0.9, mirostat=version, mirostat_tau=tau, mirostat_eta=0.2)
    made = (
        c.llama_sampler_init_mirostat(1000, 3, tau, 0.2, 100)
        if version == 1
        else c.llama_sampler_init_mirostat_v2(3, tau, 0.2)
    )
    from localspec.engine.backends.llama.chain import Chain

    own = Chain.of(c, [c.llama_sampler_init_temp(0.9), made])
    sampler = make_sampler(settings, 1000)
    assert isinstance(sampler, MirostatSampler)
    sizes = set()
    for seed in range(60):
        tokens, view = list_of(row_of(seed, 1000))
        own.apply(view)
        dist = sampler.dist(row_of(seed, 1000))
        assert_same(dist, law_of(left_in(tokens, view)))
        sampler.accept(int(left_in(tokens, view)["id"][view.selected]))
        sizes.add(len(dist.ids))
    assert len(sizes) > 3, "mu never changed, so nothing was tested"


def test_a_mixture_is_a_draw_from_one_of_several() -> None:
    a = Dist.of(np.array([1, 2]), np.array([1.0, 1.0]))
    b = Dist.of(np.array([2, 5]), np.array([3.0, 1.0]))
    mixed = mixture([(0.2, a), (0.8, b)])
    assert mixed.ids.tolist() == [1, 2, 5]
    assert mixed.probs == pytest.approx([0.1, 0.7, 0.2])


class TestSettings:
    """Whatever cannot be, contradicts itself or would do nothing is refused by name, before anything is loaded."""

    @pytest.mark.parametrize(
        ("settings", "said", "named"),
        [
            (Sampling(temperature=float("nan")), (), "--temperature"),
            (Sampling(temperature=float("inf")), (), "--temperature"),
            (Sampling(logit_bias=((-1, 2.0),)), (), "--logit-bias"),
            (Sampling(logit_bias=((1, float("nan")),)), (), "--logit-bias"),
            (Sampling(logit_bias=((1, 1.0), (1, 2.0))), (), "twice"),
            (Sampling(dry_multiplier=1, dry_sequence_breakers=("",)), (), "--dry-sequence-breaker"),
            (Sampling(dry_multiplier=1, dry_sequence_breakers=("x" * 41,)), (), "--dry-sequence-breaker"),
            (Sampling(dry_multiplier=1, dry_sequence_breakers=("x",) * 129), (), "at most 128"),
            (Sampling(xtc_threshold=0.2), (), "--xtc-probability"),
            (Sampling(), ("xtc_threshold",), "--xtc-probability"),
            (Sampling(repeat_last_n=8), (), "--repeat-penalty"),
            (Sampling(dry_base=2), (), "--dry-multiplier"),
            (Sampling(dynatemp_exponent=2), (), "--dynatemp-range"),
            (Sampling(mirostat_tau=3), (), "--mirostat"),
            (Sampling(grammar_triggers=("a",)), (), "--grammar"),
            (Sampling(grammar='root ::= "a"', grammar_triggers=("(",)), (), "--grammar-trigger"),
            (Sampling(grammar='root ::= "a"', grammar_triggers=("",)), (), "--grammar-trigger"),
            (Sampling(mirostat=2, top_k=5), (), "--top-k"),
            (Sampling(mirostat=2), ("top_k",), "--top-k"),
            (Sampling(mirostat=1, repeat_penalty=1.1), (), "--repeat-penalty"),
            (Sampling(mirostat=1, temperature=0), (), "--temperature"),
            (Sampling(mirostat=1, grammar='root ::= "a"'), (), "grammar"),
        ],
        ids=briefly,
    )
    def test_it_is_refused(self, settings: Sampling, said: Sequence[str], named: str) -> None:
        with pytest.raises(UsageError, match=named) as refused:
            settings.check(said)
        assert refused.value.hint

    @pytest.mark.parametrize("settings", [Sampling(), Sampling(mirostat=2), *STATEFUL], ids=briefly)
    def test_it_is_taken(self, settings: Sampling) -> None:
        settings.check()

    def test_a_bias_for_every_token_of_a_large_vocabulary_is_no_work(self) -> None:
        """A request to the server may have so many: to compare each with all others would take it minutes."""

        class Compared(int):
            n = 0
            __hash__ = int.__hash__

            def __eq__(self, other: object) -> bool:
                Compared.n += 1
                return int(self) == other

        Sampling(logit_bias=tuple((Compared(token), 1.0) for token in range(2_000))).check()

        assert Compared.n < 20_000

    def test_a_token_that_does_not_exist_is_refused(self) -> None:
        with pytest.raises(UsageError, match="500"):
            make_sampler(Sampling(logit_bias=((500, 1.0),)), 500)

    def test_an_engine_checks_by_itself(self) -> None:
        with pytest.raises(LocalSpecError):
            make_sampler(Sampling(top_p=float("nan")), 500)


@given(
    gap=st.floats(0, 8, width=32),
    others=st.lists(st.floats(-9, 0, width=32), min_size=1, max_size=40),
    min_p=st.sampled_from([0.02, 0.1, 0.5, 1.0]),
)
def test_a_lone_choice_is_what_the_chain_would_choose(gap: float, others: list[float], min_p: float) -> None:
    """Where min-p leaves one token it is found without the chain, and never where the chain leaves more."""
    row = np.array([*others, max(others) + gap], dtype=np.float32)
    settings = Sampling(temperature=0.8, top_k=20, top_p=0.9, min_p=min_p)
    law = reference(settings, row)
    token = GroupedScores(row).lone(min_p)
    assert token is None or law == {token: 1.0}
    assert_same(make_sampler(settings, len(row)).dist(row), law)
    if gap > -np.log(min_p) + 0.01:
        assert token == len(others)
