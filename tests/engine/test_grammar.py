"""GBNF: llama.cpp's law, its masks, its places of error; and that nothing makes it end the process."""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from localspec.base.errors import UsageError
from localspec.engine.backends.llama import guidance
from localspec.engine.backends.llama import sampler as llama_sampler
from localspec.engine.backends.llama.candidates import GroupedScores
from localspec.engine.backends.llama.chain import Chain
from localspec.engine.backends.llama.gbnf import GbnfRules
from localspec.engine.backends.llama.grammar import Grammar, check_grammar
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.backends.llama.trigger import Trigger
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.sampling import Sampler
from localspec.engine.settings import BANNED, Sampling
from tests.engine.reference import Law, assert_same, briefly, list_of, reference
from tests.engine.vocabulary import builtin_vocab

LARK = '%llguidance {}\nstart: word (" " word)* "." (" The end" " of it.")?\nword: /[a-z]+/ | "\\"" /[^"]+/ "\\""'
WORDS = 'root ::= word (" " word)* "."\nword ::= [a-z]+ | "\\"" [^"]+ "\\""'


@pytest.fixture(scope="module")
def vocab() -> Iterator[LlamaVocab]:
    with builtin_vocab() as vocab:
        yield vocab


def row_of(seed: int, n_vocab: int) -> Any:
    return np.random.default_rng(seed).normal(0, 3, n_vocab).astype(np.float32)


def allowed_by(chain: Chain, n_vocab: int) -> NDArray[np.bool_]:
    tokens, view = list_of(np.zeros(n_vocab, dtype=np.float32))
    chain.apply(view)
    return np.asarray(tokens["logit"] > BANNED)


def llama_grammar(text: str, vocab: LlamaVocab, patterns: tuple[str, ...] = ()) -> Chain:
    c = native().c
    if not patterns:
        return Chain(c, c.llama_sampler_init_grammar(vocab.handle, text.encode(), b"root"))
    texts = (ctypes.c_char_p * len(patterns))(*(pattern.encode() for pattern in patterns))
    made = c.llama_sampler_init_grammar_lazy_patterns(
        vocab.handle, text.encode(), b"root", texts, len(patterns), None, 0
    )
    return Chain(c, made)


def resampled(free: Law, allowed: NDArray[np.bool_], held: Law) -> Law:
    """Drawn without the grammar, and again with it if that does not fit."""
    law = {token: p for token, p in free.items() if allowed[token]}
    again = sum(p for token, p in free.items() if not allowed[token])
    for token, p in held.items():
        law[token] = law.get(token, 0.0) + again * p
    return law


@pytest.mark.parametrize(
    "settings",
    [
        Sampling(grammar=WORDS, top_k=5),
        Sampling(grammar=WORDS, top_k=0, top_p=1.0, min_p=0.0, temperature=2.0),
        Sampling(grammar=WORDS, temperature=0.0),
        Sampling(grammar=WORDS, top_k=4, repeat_penalty=1.5, repeat_last_n=3),
        Sampling(grammar=WORDS, top_k=8, xtc_probability=0.5, logit_bias=((300, 3.0), (301, BANNED))),
    ],
    ids=briefly,
)
@pytest.mark.parametrize("searched", [False, True])
def test_what_does_not_fit_is_drawn_again(
    vocab: LlamaVocab, settings: Sampling, searched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Along a path, the law is that of llama.cpp: its chain alone, and its chain after its grammar.

    In a vocabulary as small as this one every token is looked at; ``searched``, as few as in a large one.
    """
    if searched:
        monkeypatch.setattr(llama_sampler, "GroupedScores", FewOfAny)
    sampler = make_sampler(settings, vocab.n_vocab, vocab)
    own = llama_grammar(WORDS, vocab)
    source = np.random.default_rng(1)
    path: list[int] = []
    redrawn_n = 0
    for seed in range(25):
        row = row_of(seed, vocab.n_vocab)
        allowed = allowed_by(own, vocab.n_vocab)
        free = reference(settings, row, path)
        law = resampled(free, allowed, reference(settings, row, path, allowed=allowed))
        redrawn_n += any(not allowed[token] for token in free)
        dist = sampler.dist(row)
        assert_same(dist, law)
        path.append(int(source.choice(dist.ids, p=dist.probs)))
        if vocab.is_end(path[-1]):
            break
        sampler.accept(path[-1])
        own.accept(path[-1])
    assert redrawn_n > 1, "everything fitted, so nothing was tested"


@pytest.mark.parametrize("searched", [False, True])
@pytest.mark.parametrize("top_k", [0, 1, 5])
def test_a_mask_rules_out_what_a_grammar_of_llama_cpp_would(
    vocab: LlamaVocab, top_k: int, searched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the same law, with few tokens that fit as with many."""
    if searched:
        monkeypatch.setattr(llama_sampler, "GroupedScores", FewOfAny)
        monkeypatch.setattr(guidance, "_FEW_N", 5)
    settings = Sampling(1.0, top_k, 0.9, 0.0, grammar=LARK, repeat_penalty=1.3, logit_bias=((300, BANNED),))
    sampler, place = make_sampler(settings, vocab.n_vocab, vocab), Grammar.of(settings, vocab)
    fitting_n: set[int] = set()
    path: list[int] = []
    for seed, token in enumerate(vocab.tokenize('one "two". The end of it.', special=False)):
        row = row_of(seed, vocab.n_vocab)
        allowed = place.allows(np.arange(vocab.n_vocab))
        law = resampled(reference(settings, row, path), allowed, reference(settings, row, path, allowed=allowed))
        assert_same(sampler.dist(row), law)
        fitting_n.add(int(allowed.sum()))
        sampler.accept(token)
        place.accept(token)
        path.append(token)
    assert place.left_by is None
    assert {1, max(fitting_n)} <= fitting_n


class FewOfAny(GroupedScores):
    """As ``GroupedScores``, for vocabularies of any size."""

    def __init__(self, row: Any) -> None:
        super().__init__(row)
        self._row = row

    def most_likely(self, k: int) -> Any:
        return np.sort(np.argsort(-self._row)[:k]) if 4 * k < len(self._row) else None


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("min_p", [0.0, 0.05])
@pytest.mark.parametrize("lead", [0.0, 3.0, 8.0, 40.0])
def test_few_tokens_are_looked_at_only_where_the_others_cannot_matter(
    vocab: LlamaVocab, lead: float, min_p: float, temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether one that fits is far ahead of the rest or lost among them."""
    monkeypatch.setattr(llama_sampler, "GroupedScores", FewOfAny)
    looked_at: list[int] = []
    allows = GbnfRules.allows

    def watched(self: GbnfRules, ids: Any) -> Any:
        looked_at.append(len(ids))
        return allows(self, ids)

    monkeypatch.setattr(GbnfRules, "allows", watched)
    grammar = "root ::= [0-9A-Z]+"
    settings = Sampling(temperature, 20, 0.95, min_p, grammar=grammar, repeat_penalty=1.2, repeat_last_n=8)
    own = llama_grammar(grammar, vocab)
    allowed = allowed_by(own, vocab.n_vocab)
    row = row_of(3, vocab.n_vocab) / 3
    row[allowed] -= lead
    row[np.flatnonzero(allowed)[7]] = row[~allowed].max() - 0.5
    dist = make_sampler(settings, vocab.n_vocab, vocab).dist(row)
    free = reference(settings, row)
    assert_same(dist, resampled(free, allowed, reference(settings, row, allowed=allowed)))
    assert max(looked_at) <= vocab.n_vocab
    if temperature == 0:
        assert max(looked_at) < vocab.n_vocab / 4


def say(sampler: Sampler, vocab: LlamaVocab, text: str) -> None:
    for token in vocab.tokenize(text, special=False):
        sampler.accept(token)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_finished_reply_must_end(vocab: LlamaVocab, temperature: float) -> None:
    """Only where the grammar is complete may the turn end, and where nothing can follow it must."""
    sampler = make_sampler(Sampling(temperature, grammar='root ::= "one" " two"?'), vocab.n_vocab, vocab)
    row = row_of(1, vocab.n_vocab)
    assert not any(vocab.is_end(token) for token in sampler.dist(row).ids.tolist())
    say(sampler, vocab, "one")
    endless = row.copy()
    endless[[token for token in range(vocab.n_vocab) if vocab.is_end(token)]] = 50.0
    assert all(vocab.is_end(token) for token in sampler.dist(endless).ids.tolist())
    say(sampler, vocab, " two")
    assert all(vocab.is_end(token) for token in sampler.dist(row).ids.tolist())


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        (("<think>",), "Well, <think> yes"),
        ((r"so: (\{)",), 'so: {"a'),
        ((r"never", r"[0-9]+(\{)?"), 'x 12{"a'),
        ((r"^(\{[\s\S]*)$",), '{"a'),
    ],
)
def test_a_trigger_begins_the_grammar_where_llama_cpp_does(
    vocab: LlamaVocab, patterns: tuple[str, ...], said: str
) -> None:
    """Before, at and after the trigger, what fits is what fits in llama.cpp's lazy grammar."""
    text = 'root ::= ("<think>" " "? [a-z]+) | "{" [a-z"]+ "}" | [0-9] .*'
    settings = Sampling(grammar=text, grammar_triggers=patterns)
    grammar, own = Grammar.of(settings, vocab), llama_grammar(text, vocab, patterns)
    every = np.arange(vocab.n_vocab)
    masks = set()
    for token in vocab.tokenize(said, special=False):
        expected = allowed_by(own, vocab.n_vocab)
        assert np.array_equal(grammar.allows(every), expected)
        masks.add(expected.sum())
        grammar.accept(token)
        own.accept(token)
    assert np.array_equal(grammar.allows(every), allowed_by(own, vocab.n_vocab))
    assert len(masks) > 1, "it never began, so nothing was tested"


@dataclass
class CountedPattern:
    """A pattern that counts how often it is looked for."""

    pattern: re.Pattern[bytes]
    searches_n: int = 0

    def search(self, text: bytes) -> re.Match[bytes] | None:
        self.searches_n += 1
        return self.pattern.search(text)


def test_a_text_is_searched_for_a_trigger_once_by_a_reply_and_its_forks(vocab: LlamaVocab) -> None:
    """A draft goes there, then its verification, then the reply; each search reads the whole text."""
    counted: Any = CountedPattern(re.compile(b"stop"))
    trigger = Trigger((counted,), vocab)
    tokens = vocab.tokenize("a text of some words, and more words. " * 20, special=False)
    for begin in range(0, len(tokens), 4):
        for fork in (trigger.fork(), trigger.fork(), trigger):
            assert [fork.accept(token) for token in tokens[begin : begin + 4]].count(None) == len(tokens[begin:][:4])
    assert counted.searches_n == len(tokens)
    *_, begun = [trigger.accept(token) for token in vocab.tokenize("stop", special=False)]
    assert begun is not None
    assert begun[1] == "stop"


@pytest.mark.parametrize("text", ['root ::= "he" "x"', '%llguidance {}\nstart: "he" "x"'])
def test_a_trigger_in_the_middle_of_a_token(vocab: LlamaVocab, text: str) -> None:
    """The grammar is told of the second part alone."""
    token = next(t for t in range(vocab.n_vocab) if vocab.piece(t) == b" the")
    grammar = Grammar.of(Sampling(grammar=text, grammar_triggers=("h",)), vocab)
    grammar.accept(token)
    fitting = {vocab.piece(int(t)) for t in np.flatnonzero(grammar.allows(np.arange(vocab.n_vocab)))}
    assert fitting == {b"x"}


@pytest.mark.parametrize("prompt", ["<|assistant|>\none t", "<|assistant|>\n one t", "say zone t", "something else"])
@pytest.mark.parametrize("text", ['root ::= "one two" "!"', '%llguidance {}\nstart: "one two" "!"'])
def test_a_reply_that_has_begun_goes_on_in_its_grammar(vocab: LlamaVocab, prompt: str, text: str) -> None:
    """Wherever the tokens of the prompt are cut, and whatever they say."""
    settings = Sampling(grammar=text)
    sampler = make_sampler(settings, vocab.n_vocab, vocab, vocab.tokenize(prompt, special=True), "one t")
    row = row_of(1, vocab.n_vocab)
    assert {vocab.piece(int(token)) for token in sampler.dist(row).ids} <= {b"w", b"wo", b"wo!"}


def test_a_vocabulary_is_not_searched_for_what_can_be_tokenized(
    vocab: LlamaVocab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That takes a while in a large one."""
    tokens = vocab.tokenize("In the zone there is one", special=False)
    piece, asked = vocab.piece, set()

    def note_and_tell(token: int) -> bytes:
        asked.add(token)
        return piece(token)

    monkeypatch.setattr(vocab, "piece", note_and_tell)
    for text in ("one", " one", "ne there is one", "the zone there is one"):
        said = vocab.tail(tokens, text)
        assert b"".join(map(vocab.piece, said)).decode() == text
    assert len(asked) < vocab.n_vocab / 4


@pytest.mark.parametrize("rest", [b"he", b"\xbc\xa2 the", "字 one".encode(), b"\xff\xfe"])
def test_any_bytes_can_be_spelt(vocab: LlamaVocab, rest: bytes) -> None:
    """Also the second part of a character."""
    assert b"".join(map(vocab.piece, vocab.spell(rest))) == rest


def test_a_trigger_that_does_not_fit_is_named(vocab: LlamaVocab) -> None:
    """llama.cpp would end the process. A fork that went there is no harm: the reply may never follow."""
    settings = Sampling(grammar='root ::= "x"', grammar_triggers=("one",))
    sampler = make_sampler(settings, vocab.n_vocab, vocab)
    row = row_of(1, vocab.n_vocab)
    fork = sampler.fork()
    say(fork, vocab, "one")
    assert fork.dist(row).probs.sum() == pytest.approx(1)
    sampler.dist(row)
    say(sampler, vocab, "one")
    with pytest.raises(UsageError, match="'one'"):
        sampler.dist(row)


GRAMMARS = [
    ("", "rules"),
    ("root ::= \0", "zero"),
    ('root ::= "\ud800"', "half characters"),
    ('root := "a"', "line 1, column 6, at ':= \"a\"': expecting ::="),
    ('root ::= "a" |\n  b\n\n\nb ::= [a-z] ?\nc ::= *', "line 6, column 8, at the end: expecting preceding item"),
    ('root ::= ("a"', "line 1, column 14, at the end: expecting '\\)'"),
    ('root ::= "é" *(', r"line 1, column 16"),
    ('root ::= "a" | foo', "'foo'"),
    ('start ::= "a"', "'root'"),
    ('root ::= root "a"', "left recursion"),
    ('root ::= "{3,1}" "a"{3, 1}', r"\{3,1\} counts"),
    (f'root ::= "a"{{{"9" * 5000}}}', "18 digits"),
    (f'root ::= "a"{{1, {"9" * 5000}}}', "18 digits"),
    ("root ::= " + "[" * 1_000_000, "unexpected end"),
    ('root ::= "' + "[" * 1_000_000 + "\\", "."),
    ("root ::= " + "(" * 100_000 + '"a"' + ")" * 100_000, "brackets"),
]


@pytest.mark.parametrize(("text", "said"), GRAMMARS, ids=[said for _, said in GRAMMARS])
def test_a_grammar_that_is_none(text: str, said: str, vocab: LlamaVocab, capfd: Any) -> None:
    """Refused with the place, with or without a model, and nothing reaches the terminal."""
    with pytest.raises(UsageError, match=said):
        check_grammar(text)
    with pytest.raises(UsageError, match=said):
        make_sampler(Sampling(grammar=text), vocab.n_vocab, vocab)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("start: (", r"2\(9\): Expected token '\)'"),
        ("start: /(/", r'2\(8\): invalid regex "\(" .*unclosed group'),
        ('start: "a" other', 'unknown name: "other"'),
        ('start: %json {"not": {}}', "not"),
        ("rule: /a/", "start"),
    ],
)
def test_lark_that_is_none(text: str, said: str, vocab: LlamaVocab, capfd: Any) -> None:
    """Refused with the place, with or without a model, and nothing reaches the terminal."""
    with pytest.raises(UsageError, match=said):
        check_grammar(f"%llguidance {{}}\n{text}")
    with pytest.raises(UsageError, match=said):
        make_sampler(Sampling(grammar=f"%llguidance {{}}\n{text}"), vocab.n_vocab, vocab)
    assert capfd.readouterr() == ("", "")


def test_a_grammar_without_sentences_is_named(vocab: LlamaVocab) -> None:
    sampler = make_sampler(Sampling(grammar="%llguidance {}\nstart: start"), vocab.n_vocab, vocab)
    with pytest.raises(UsageError, match="no text fits the grammar here"):
        sampler.dist(row_of(1, vocab.n_vocab))


def doubling(alternatives: str, levels: int, last: str = '"a"') -> str:
    """A grammar whose rules, {} in the alternatives, each refer twice to the next."""
    rules = [f"r{n} ::= {alternatives.replace('{}', f'r{n + 1}')}\n" for n in range(levels)]
    return "".join(["root ::= r0\n", *rules, f"r{levels} ::= {last}\n"])


EXPLOSIVE = {
    "alternatives that double per level": doubling("{} | {}", 60),
    "and are told apart by what follows": doubling('{} "a" | {} "b"', 60),
    "rules that may be empty": doubling("| {} {}", 60, '"a" | '),
    "a rule that begins with itself behind one that is empty": 'root ::= gap root "z" | "x"\ngap ::= [ ]*\n',
    "long texts, repeated": f'root ::= "{"a" * 100_000}"{{2000}}',
    "many repetitions": "root ::= " + '"a"{0,2000} ' * 2_000,
    "repetitions of what may be empty": 'root ::= a{0,2000}\na ::= b{0,2000}\nb ::= "c"?',
}


@pytest.mark.parametrize("text", EXPLOSIVE.values(), ids=EXPLOSIVE)
def test_a_grammar_over_which_llama_cpp_would_not_end_is_refused(text: str) -> None:
    """In time, with a sentence that has the limit in it: llama.cpp would hang, take all memory or end the process."""
    with pytest.raises(UsageError, match=r"\d,000"):
        check_grammar(text)


def lark_chain(rule: str, n: int = 3000) -> str:
    """Rules that lead from one to the next."""
    rules = (f"{rule.format(i)}: {rule.format(i + 1)} /[:]/ // (((" for i in range(n))
    return "\n".join(["%llguidance {}", f"start: {rule.format(0)}", *rules, f'{rule.format(n)}: "b:"'])


@pytest.mark.parametrize("text", [lark_chain("r{}"), lark_chain("R{}", 9000)])
def test_rules_as_deep_as_would_end_the_process_are_refused(text: str) -> None:
    """Llguidance calls itself for each rule, and has no limit; what stands in texts and comments does not count."""
    with pytest.raises(UsageError, match="used: it is nested too deeply"):
        check_grammar(text)
    with pytest.raises(UsageError, match="used: it is nested too deeply"):
        check_grammar(json.dumps({"grammars": [{"lark_grammar": text.removeprefix("%llguidance {}")}]}))
    check_grammar(lark_chain("r{}", 1000))


USED = {
    "json": r"""root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array  ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
# Space is optional.
ws ::= | " " | "\n" [ \t]{0,20}
""",
    "arithmetic": r"""root  ::= (expr "=" ws term "\n")+
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \t\n]*
""",
    "chess": r"""root    ::= "1. " move " " move "\n" ([1-9] [0-9]? ". " move " " move "\n")+
move    ::= (pawn | nonpawn | castle) [+#]?
nonpawn ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn    ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?
castle  ::= "O-O" "-O"?
""",
    "twenty thousand words": "root ::= " + " | ".join(f'"word {n}"' for n in range(20_000)),
    "a long list of fields": "root ::= " + " ".join(f'"{n}:" [a-z]{{0,2000}}' for n in range(100)),
    "doubled a few times": doubling('{} "a" | {} "b"', 8),
    "a chain of rules": doubling("{}", 10_000),
    "a list that may begin with space": 'root ::= gap root | "x"\ngap ::= [ ]*\n',
}


@pytest.mark.parametrize("text", USED.values(), ids=USED)
def test_a_grammar_that_people_use_is_not_too_large(text: str) -> None:
    check_grammar(text)


def test_brackets_and_counts_in_texts_are_texts() -> None:
    """Neither nested nor repeated, hence not refused; outside of texts they are both."""
    check_grammar(f'root ::= "{"(" * 300}" [{{3,1}}]  # {{3,1}}\n')
    for grammar in (f'root ::= {"(" * 300}"a"{")" * 300}\n', 'root ::= "a"{3,1}\n'):
        with pytest.raises(UsageError):
            check_grammar(grammar)


def test_a_grammar_may_name_tokens(vocab: LlamaVocab) -> None:
    """Which takes a model: without one, no more than the rest can be checked."""
    check_grammar("root ::= <|end|>")
    make_sampler(Sampling(grammar="root ::= <|end|>"), vocab.n_vocab, vocab)
    with pytest.raises(UsageError, match="<nothing>"):
        make_sampler(Sampling(grammar="root ::= <nothing>"), vocab.n_vocab, vocab)


def test_grammars_may_be_read_by_several_threads_at_once() -> None:
    """Each complaint is about its own grammar, and standard error is where it was: a server checks many at a time."""
    before, said = os.fstat(2), []

    def read(number: int) -> None:
        for _ in range(50):
            with pytest.raises(UsageError) as refused:
                check_grammar(f"root ::= missing{number}")
            said.append(f"missing{number}" in refused.value.message)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(read, range(6)))

    assert all(said)
    assert os.path.samestat(os.fstat(2), before)


@pytest.mark.parametrize("from_the_start", [False, True])
def test_a_grammar_is_read_with_standard_error_closed(monkeypatch: pytest.MonkeyPatch, from_the_start: bool) -> None:
    kept = os.dup(2)
    if from_the_start:
        monkeypatch.setattr(sys, "stderr", None)
    os.close(2)
    try:
        with pytest.raises(UsageError):
            check_grammar("root")
    finally:
        os.dup2(kept, 2)
        os.close(kept)
