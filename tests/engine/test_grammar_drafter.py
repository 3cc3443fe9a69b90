"""Forced tokens: what a grammar leaves no choice about is proposed for nothing, always accepted, and changes no law."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher, LLParserLimits, LLTokenizer

import localspec.engine.loop as loop
from localspec.base.errors import UsageError
from localspec.engine.adaptive import AdaptiveDepth
from localspec.engine.backends.llama.grammar import Grammar, GrammarSampler
from localspec.engine.backends.llama.guidance import GuidanceRules, Walk
from localspec.engine.cancel import Cancellation
from localspec.engine.costs import Costs, QueryCost
from localspec.engine.depth import DepthPolicy, FixedDepth
from localspec.engine.dist import Dist, Rng, SeededRng
from localspec.engine.drafter import Drafter, DrafterInputs
from localspec.engine.drafters import dflash, eagle3, mtp
from localspec.engine.drafters.draft import DraftModel
from localspec.engine.drafters.grammar import GrammarDrafter
from localspec.engine.drafters.suffix import SuffixDrafter
from localspec.engine.events import Origin, Round
from localspec.engine.head import HeadInputs
from localspec.engine.logprobs import LogprobReader
from localspec.engine.sampling import Greedy
from tests.engine.test_drafting import Whim
from tests.engine.test_verify import PROMPT, Law
from tests.fake_heads import FakeBlockHead, FakeHead, HiddenTarget
from tests.fakes import ExactModel, ExactSampler, PieceVocab, ScriptedDrafter, TableModel, enumerate_law

VOCAB = PieceVocab((b"a", b"b", b"ab", b"aba", b"x", b""), frozenset({5}))
LAYERS = (0, 1)
GRAMMARS = {
    "one text": 'start: "abab"',
    "a choice, then one text": 'start: ("a" | "b") "xab"',
    "one text, then a choice": 'start: "xx" /[ab]+/',
    "two texts that begin alike": 'start: "abax" | "abab"',
    "texts that are tokens in several ways": 'start: /(ab|aba)/ "x"',
    "a text in the middle": 'start: /[ab]?/ "xba" /[ab]?/',
}


class _Tokenizer:
    """The longest pieces first, as llguidance asks for tokens."""

    eos_token_id, bos_token_id = 5, None
    tokens: Sequence[bytes] = (*VOCAB.pieces[:5], b"\xffend")
    special_token_ids: Sequence[int] = ()
    is_tokenizer_wrapper = True

    def __call__(self, text: str) -> list[int]:
        found = []
        while text:
            token = max((t for t in range(5) if text.startswith(VOCAB.pieces[t].decode())), key=_length)
            found.append(token)
            text = text[_length(token) :]
        return found


def _length(token: int) -> int:
    return len(VOCAB.pieces[token])


TOKENIZER = LLTokenizer(_Tokenizer(), slices=[])  # type: ignore[arg-type]


@dataclass
class Exact(ExactSampler):
    """Exact probabilities, chosen among what a grammar leaves."""

    def dist_within(self, row: Any, grammar: Grammar, *, roughly: bool = False) -> Dist | None:
        ids = np.arange(len(row))
        held = np.asarray(row, dtype=object) * grammar.allows(ids)
        return Dist.of(ids, held) if held.any() else None

    def fork(self) -> Exact:
        return self


def rules(grammar: str) -> Grammar:
    return Grammar(GuidanceRules(Walk(LLMatcher(TOKENIZER, grammar), pytest.fail, VOCAB)), None)


def held(grammar: str) -> GrammarSampler:
    return GrammarSampler(Exact(), rules(grammar), VOCAB.n_vocab)


def plain_law(model: ExactModel, grammar: str, length: int) -> Law:
    """By definition: drawn, and where it does not fit drawn again among what fits."""
    law: Law = {}
    heads: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while heads:
        tokens, weight = heads.pop()
        if len(tokens) == length or (tokens and VOCAB.is_end(tokens[-1])):
            law[tokens] = law.get(tokens, Fraction(0)) + weight
            continue
        place = rules(grammar)
        for token in tokens:
            place.accept(token)
        fits = place.allows(np.arange(VOCAB.n_vocab)).tolist()
        probs = [p if fit else Fraction(0) for p, fit in zip(model.probs([*PROMPT, *tokens]), fits, strict=True)]
        for token, prob in enumerate(probs):
            if prob:
                heads.append(((*tokens, token), weight * prob / sum(probs)))
    return law


def every_drafter(target: HiddenTarget, seed: int) -> list[Drafter]:
    """All there are, each of which proposes what fits and what does not, and all of them together at last."""
    inputs = DrafterInputs(
        VOCAB,
        ExactModel(VOCAB, seed=seed + 1, zeros=False),
        heads={
            "eagle3": HeadInputs(FakeHead(VOCAB), target.keep_hidden(LAYERS)),
            "mtp": HeadInputs(FakeHead(VOCAB), target.keep_hidden(LAYERS)),
            "dflash": HeadInputs(FakeBlockHead(VOCAB, block_n=2), target.keep_hidden(LAYERS)),
        },
    )
    models: list[Drafter] = [module.make(inputs) for module in (dflash, eagle3, mtp)]
    scripted = ScriptedDrafter(lambda context: [sum(context) % 6] * 3)
    return [GrammarDrafter(), SuffixDrafter(), DraftModel(inputs.draft), scripted, *models]  # type: ignore[arg-type]


@pytest.mark.parametrize("grammar", GRAMMARS.values(), ids=GRAMMARS)
@given(seed=st.integers(0, 10_000), which=st.integers(0, 7), whim=st.booleans())
@settings(max_examples=8, deadline=None)
def test_a_reply_held_to_a_grammar_has_the_law_of_a_plain_one(grammar: str, seed: int, which: int, whim: bool) -> None:
    """Exactly, with every drafter alone beside the grammar's, and with all of them."""
    model = ExactModel(VOCAB, seed=seed, zeros=False)

    def run(rng: Rng) -> tuple[int, ...]:
        target = HiddenTarget(model)
        drafters = every_drafter(target, seed)
        chosen = drafters if which == 7 else [drafters[0], drafters[which]][: 1 + (which > 0)]
        policy: DepthPolicy = Whim(seed) if whim else FixedDepth(2)
        request = loop.Request(PROMPT, held(grammar), rng, policy, max_tokens=4)
        events = loop.generate(target, chosen, request, Cancellation())
        return tuple(token.id for event in events if isinstance(event, Round) for token in event.tokens)

    assert enumerate_law(run) == plain_law(model, grammar, 4)


def rounds_of(grammar: str, drafters: Sequence[Drafter], policy: DepthPolicy, seed: int = 0) -> list[Round]:
    model = TableModel(VOCAB, seed=seed, order=0)
    request = loop.Request(PROMPT, sampler_of(grammar), SeededRng(seed), policy, max_tokens=40)
    return [event for event in loop.generate(model, drafters, request, Cancellation()) if isinstance(event, Round)]


def sampler_of(grammar: str) -> GrammarSampler:
    """Greedy, among what a grammar leaves."""

    class Chooser(Greedy):
        def dist_within(self, row: Any, grammar: Grammar, *, roughly: bool = False) -> Dist | None:
            fits = grammar.allows(np.arange(len(row)))
            return Dist.point(int(np.where(fits, row, -np.inf).argmax())) if fits.any() else None

        def fork(self) -> Chooser:
            return self

    return GrammarSampler(Chooser(), rules(grammar), VOCAB.n_vocab)


@pytest.mark.parametrize("grammar", GRAMMARS.values(), ids=GRAMMARS)
def test_whatever_it_proposes_is_accepted(grammar: str) -> None:
    """And shown as its own."""
    proposed_n = 0
    for seed in range(10):
        rounds = rounds_of(grammar, [GrammarDrafter()], FixedDepth(3), seed)
        assert not any(round_.rejected for round_ in rounds)
        tokens = [token for round_ in rounds for token in round_.tokens]
        assert all((token.drafter == "grammar") is (token.origin is Origin.ACCEPTED) for token in tokens)
        proposed_n += sum(token.origin is Origin.ACCEPTED for token in tokens)
    assert proposed_n > 0


def test_no_model_is_asked_where_a_token_is_forced() -> None:
    """By either policy; and a forced run is verified at once where that is cheaper than its tokens one by one."""
    text = 'start: "' + "abab" * 8 + '"'
    policies: list[Callable[[], DepthPolicy]] = [lambda: FixedDepth(15), lambda: AdaptiveDepth(costs(), 15)]
    for policy in policies:
        draft = TableModel(VOCAB, seed=1)
        rounds = rounds_of(text, [GrammarDrafter(), DraftModel(draft)], policy())
        assert not any(rows_n for _, rows_n in draft.calls)
        assert max(round_.depth for round_ in rounds) > 6
        assert len(rounds) <= 4


def test_the_first_round_has_what_is_forced_and_no_guess() -> None:
    """The first token waits for no guess, but what is certain comes with it; a drafter that copies is not asked."""
    text = 'start: "xxx" /[ab]+/'
    first, second, *_ = rounds_of(
        text, [GrammarDrafter(), ScriptedDrafter(lambda _: [0, 1])], AdaptiveDepth(costs(), 15)
    )
    assert [token.drafter for token in first.tokens] == ["grammar", "grammar", "grammar", None]
    assert second.proposed_n > 0


def costs() -> Costs:
    return Costs({batch: 1.0 + 0.3 * batch for batch in range(1, 17)}, {"draft": QueryCost(0.1, 0.05)})


def test_a_place_that_takes_too_much_is_no_trouble_to_the_others() -> None:
    """Where llguidance gives up on what lies ahead of a reply, the reply itself goes on, and so do others."""
    limits = LLParserLimits(max_lexer_states=10, verbose_errors=False)

    def anew() -> LLMatcher:
        return LLMatcher(TOKENIZER, 'start: "a" | /b.*a.{9}x/', log_level=0, limits=limits)

    compiled = anew()
    place, other = (Grammar(GuidanceRules(Walk(compiled.deep_copy(), anew, VOCAB)), None) for _ in range(2))
    ahead = place.fork()
    for token in (1, 0):
        ahead.accept(token)
    with pytest.raises(UsageError, match="cannot go on: lexer error: too many states"):
        assert ahead.few is not None
    for each in (place, other):
        assert each.few is not None
        assert (each.few.tolist(), each.left_by) == ([0, 1], None)


@pytest.mark.parametrize("scores", [0.0, 0.1])
@pytest.mark.parametrize("logprobs", [False, True])
def test_scores_at_the_places_of_forced_tokens_are_left_out_where_they_cost_and_are_not_told(
    scores: float, logprobs: bool
) -> None:
    """And the price of the round is less by them."""
    costs = Costs({1: 1.0, 8: 4.0}, scores=scores)
    reader = LogprobReader(0, VOCAB.piece) if logprobs else None
    request = loop.Request(
        PROMPT, sampler_of('start: "xxxx" /[ab]+/'), SeededRng(0), FixedDepth(4, costs), max_tokens=9, logprobs=reader
    )
    events = loop.generate(TableModel(VOCAB), [GrammarDrafter()], request, Cancellation())
    first = next(event for event in events if isinstance(event, Round))
    assert first.depth == first.accepted_n > 1
    assert first.unscored_n == (first.depth if scores and not logprobs else 0)
    assert first.price == pytest.approx(Costs({1: 1.0, 8: 4.0}).price(first.depth + 1) - first.unscored_n * scores)
    assert all((token.logprobs is not None) is logprobs for token in first.tokens)


def test_without_a_grammar_it_is_silent() -> None:
    model = TableModel(VOCAB, seed=3)
    request = loop.Request(PROMPT, Greedy(), SeededRng(0), FixedDepth(3), max_tokens=9)
    events = loop.generate(model, [GrammarDrafter()], request, Cancellation())
    assert not any(event.depth for event in events if isinstance(event, Round))
