"""The constraint holds calls to their syntax and to the schema of their tool."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.base.errors import UsageError
from localspec.engine.backends.llama.grammar import Grammar, check_grammar
from localspec.engine.backends.llama.guidance import GuidanceRules
from localspec.engine.backends.llama.json_schema import grammar_of_schema
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.settings import Sampling
from localspec.runtime.calls.constraint import held
from localspec.runtime.calls.reading import CallReader
from localspec.runtime.calls.syntax import HERMES, SYNTAXES, CallSyntax, Markers, unmarked
from localspec.runtime.messages import Tool
from tests.runtime.calls.support import (
    BY_NAME,
    FIRST,
    NESTED,
    NS,
    PARAMETERS,
    SCHEMA,
    SECOND,
    TOOLS,
    WRITERS,
    Arguments,
    begun,
    each_syntax,
    object_schema,
)


@pytest.fixture(scope="package")
def marked_vocab(vocab: LlamaVocab) -> Any:
    return WithMarkers(vocab)


@each_syntax
def test_the_constraint_takes_what_the_syntax_writes_and_only_with_arguments_that_fit(
    syntax: CallSyntax, vocab: LlamaVocab
) -> None:
    write = WRITERS[syntax.name]
    settings = held(Sampling(), syntax, TOOLS, {}, reasons=False)
    whole = write("first", {"text": "a", "n": 7}).removesuffix("<|end_of_msg|>").replace("'", '"')
    both = f"{whole}\n{write('second', {})}" if not syntax.trigger else whole
    for text, fits in ((both, True), (write("first", {"n": "seven"}), False), (write("third", {}), False)):
        place = Grammar.of(replace(settings, grammar_triggers=()), vocab)
        for token in vocab.tokenize(begun(syntax, text) or text, special=False):
            place.accept(token)
        assert (place.left_by is None) == fits


GEMMA = ("text", "chosen", "colour", "short", "code", "found", "ID", "KEY_VALUE", "NAME")
SEVERAL = st.lists(st.sampled_from(sorted(PARAMETERS)), unique=True, max_size=4)
each_single = pytest.mark.parametrize("syntax", [each for each in SYNTAXES if each.written], ids=lambda each: each.name)


@each_single
@pytest.mark.parametrize("with_controls", [False, True])
@settings(deadline=None, max_examples=6)
@given(names=SEVERAL, seed=st.integers(0, 2**32), data=st.data())
def test_whatever_the_constraint_lets_be_written_is_read_as_arguments_that_fit(
    syntax: CallSyntax,
    with_controls: bool,
    names: list[str],
    seed: int,
    data: st.DataObject,
    vocab: Any,
    marked_vocab: Any,
) -> None:
    """Each text that is drawn at random under it is calls of the tool, with what its schema asks for."""
    if syntax.name == "Gemma":  # others may be any value
        names = [name for name in names if name in GEMMA]
    required = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    schema = object_schema({name: PARAMETERS[name] for name in names}, required)
    tools = (replace(FIRST, parameters=json.dumps(schema)),)
    vocab = marked_vocab if with_controls else vocab
    marked = dict(zip(syntax.markers, vocab.spare, strict=False)) if with_controls else {}
    stand_ins = Markers(marked)
    written = {token: stand_ins.written(marker) for marker, token in marked.items()}
    settings = held(Sampling(), syntax, tools, marked, reasons=False, must_call=True)
    text = drawn(settings.grammar or "", vocab, written, [syntax.written, syntax.written_text, syntax.held[0]], seed)
    read = CallReader(syntax, tools, stand_ins).read(text)
    assert read.calls, (text, read.error)
    assert {call.name for call in read.calls} == {"first"}
    for call in read.calls:
        jsonschema.validate(call.arguments, schema)
        assert call.arguments.keys() <= schema["properties"].keys()


@each_syntax
def test_what_a_marker_in_words_begins_is_held_to_nothing(syntax: CallSyntax, marked_vocab: Any) -> None:
    """Where the marker is a control token the words are no call; where it is none they are."""
    call = begun(syntax, WRITERS[syntax.name]("first", {})) or ""
    marker = next((marker for marker in syntax.markers if marker in call), call)
    words = call[: call.index(marker) + len(marker) + 1]
    vocab = marked_vocab
    has_marker = "«" in syntax.around[0] + syntax.held[0]
    for controls, free in (dict(zip(syntax.markers, vocab.spare, strict=False)), has_marker), ({}, False):
        grammar = held(Sampling(), syntax, TOOLS, controls, reasons=False).grammar or ""
        rules = GuidanceRules.of(grammar, vocab)
        assert all(map(rules.accept, vocab.tokenize(f"{words} is a tag.", special=False))) == free


def test_the_token_that_ends_a_marker_in_words_may_go_on(marked_vocab: Any) -> None:
    vocab = marked_vocab
    long = next(token for token in range(vocab.n_vocab) if len(vocab.piece(token)) > 2 and vocab.piece(token).isalpha())
    marker, other = vocab.piece(long)[:2].decode(), vocab.spare[0]
    syntax = replace(BY_NAME["GLM"], held=(f"«{marker}»NAME\nARGUMENTS",))
    rules = GuidanceRules.of(held(Sampling(), syntax, TOOLS, {marker: other}, reasons=False).grammar or "", vocab)
    assert all(map(rules.accept, (long, long, *vocab.spare)))


MUSE = WRITERS["Muse"]("first", {})


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        (MUSE, True),
        (f" to=user<|message|>Let me see.<|eom|><|start|>assistant{MUSE}", True),
        (f" to=self<|message|>I might call it.<|eom|><|start|>assistant{MUSE}", True),
        (f" to=self<|message|>I might write\n{MUSE}", False),
        (f" to=self<|message|>I might write\n{MUSE}<|eom|><|start|>assistant to=user<|message|>Yes.", False),
        (" to=user<|message|>Calls of it begin with\n to=first<|message|>\n", False),
    ],
)
def test_a_call_of_muse_begins_with_a_message_to_a_tool(text: str, begins: bool) -> None:
    """The first of the reply or a later one, and none that the reasoning quotes."""
    muse = BY_NAME["Muse"]
    assert begun(muse, text) == (MUSE if begins else None)
    assert [call.name for call in CallReader(muse, TOOLS).read(text).calls] == ["first"] * begins


UNSAID = [
    {"type": "string", "not": {"const": "a"}},
    {"type": "string", "maxLength": "3"},
    {"type": "string", "maxLength": 1_000_000},
    {"type": "string", "minLength": 5, "maxLength": 3},
    {"type": "string", "enum": []},
    {"type": "string", "enum": 5},
    *({"type": "string", "minLength": {"a": f"{odd}{'é' * 60}"}} for odd in ("", "x")),
    {"type": "string", "enum": ["a", "\ud800"]},
    {"type": "string", "maxLength": 3, "anyOf": [{"pattern": "a"}, {"pattern": "b"}]},
    {"oneOf": [{"type": "string", "maxLength": 2}, {"type": "string", "minLength": 2}]},
    {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "integer"}]},
    {"type": "array", "uniqueItems": True},
    *({"type": "string", "pattern": each} for each in ("^a|b$", "(?=a)", r"\ba", "(a)\\1", "(", "a)/ | /(b")),
]


@pytest.mark.parametrize("schema", UNSAID)
def test_a_parameter_that_cannot_be_held_is_any_text_beside_others_that_are_held(
    schema: Arguments, vocab: LlamaVocab
) -> None:
    whole = {"type": "object", "properties": {"text": schema, "n": {"type": "integer"}}, "required": ["n"]}
    tools = (replace(FIRST, parameters=json.dumps(whole)),)
    grammar = held(Sampling(), BY_NAME["Seed"], tools, {}, reasons=False).grammar or ""
    for arguments, fits in (
        ({"text": "so b\n/ (it) is", "n": 3}, True),
        ({"text": "a"}, False),
        ({"n": "three"}, False),
    ):
        rules = GuidanceRules.of(grammar, vocab)
        said = vocab.tokenize(WRITERS["Seed"]("first", arguments), special=False)
        assert all(map(rules.accept, said)) == fits


@pytest.mark.parametrize(
    "more", [{"additionalProperties": True}, {"anyOf": [{"required": ["n"]}]}, {"required": ["unknown"]}]
)
def test_a_tool_whose_schema_says_more_than_its_parameters_takes_any(more: Arguments, vocab: LlamaVocab) -> None:
    tools = (replace(FIRST, parameters=json.dumps({**json.loads(SCHEMA), **more})), SECOND)
    for name, fits in (("first", True), ("second", False)):
        rules = GuidanceRules.of(held(Sampling(), BY_NAME["GLM"], tools, {}, reasons=False).grammar or "", vocab)
        said = vocab.tokenize(WRITERS["GLM"](name, {"other": "a", "n": "no"}), special=False)
        assert all(map(rules.accept, said)) == fits


@each_single
def test_a_name_that_tags_cannot_say_is_held_to_nothing(syntax: CallSyntax) -> None:
    """Its tool could not be called otherwise; every other name is said and read."""
    for name, fits in (("a b", False), ("a<b", False), ("$a.b-c@d", True)):
        tools = (replace(FIRST, parameters=json.dumps({"type": "object", "properties": {name: {"type": "integer"}}})),)
        assert (held(Sampling(), syntax, tools, {}, reasons=False) != Sampling()) == fits
        if not fits:
            with pytest.raises(UsageError, match="cannot be constrained to these tools"):
                held(Sampling(), syntax, tools, {}, reasons=False, must_call=True)
        else:
            (call,) = CallReader(syntax, tools).read(WRITERS[syntax.name]("first", {name: 3})).calls
            assert call.arguments == {name: 3}


@each_single
def test_a_call_that_goes_on_in_the_token_of_its_begin_is_not_held_to_what_it_is_not(
    syntax: CallSyntax, vocab: LlamaVocab
) -> None:
    """White space behind the begin is taken where the syntax has it; nothing else leaves the grammar at once."""
    settings = held(Sampling(), syntax, TOOLS, {}, reasons=False)
    opening = begun(syntax, WRITERS[syntax.name]("first", {})) or ""
    opening = opening[: next(at for at in range(len(opening) + 1) if begun(syntax, opening[:at]))]
    for after in ("\n", " ", "{", "x"):
        if any(re.search(pattern.encode(), (opening + after).encode()) for pattern in settings.grammar_triggers):
            rules = GuidanceRules.of(settings.grammar or "", vocab)
            assert all(map(rules.accept, vocab.tokenize(opening + after, special=False))) or syntax.trigger


WORDS = st.sampled_from(
    ["type", "string", "null", "$ref", "#/properties/a", "anyOf", "enum", "pattern", "[^", "\\", "/"]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 20) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
)


@settings(deadline=None, max_examples=60)
@given(part=JUNK, required=JUNK)
def test_whatever_a_server_calls_a_schema_is_held_or_let_be(part: Any, required: Any) -> None:
    parameters = json.dumps({"properties": {"a": part, "b": {"enum": [part]}}, "required": required})
    check_grammar(held(Sampling(), BY_NAME["GLM"], (Tool("t", "", parameters),), {}, reasons=False).grammar or "")
    text = "<tool_call>t<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>"
    assert CallReader(BY_NAME["GLM"], (Tool("t", "", parameters),)).read(text).calls


class WithMarkers:
    """The built-in vocabulary, some long words in it control tokens."""

    def __init__(self, vocab: LlamaVocab) -> None:
        self._vocab = vocab
        self.spare = [token for token in range(vocab.n_vocab) if len(vocab.piece(token)) > 9][:16]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vocab, name)

    def sources(self) -> Iterator[tuple[bytes, bool]]:
        for token, (text, control) in enumerate(self._vocab.sources()):
            yield text, control or token in self.spare


def drawn(grammar: str, vocab: LlamaVocab, written: Mapping[int, str], forms: Sequence[str], seed: int) -> str:
    """A text under a grammar, of random tokens and pieces of what a syntax says; the tokens of ``written`` say that."""
    chance, rules, text = Random(seed), GuidanceRules.of(grammar, vocab), b""
    ends = [
        unmarked(piece).replace("⏎", "\n")
        for form in forms
        for piece in re.split("NAME|KEY|VALUE|ARGUMENTS" + "|«.+?»" * bool(written), form)
    ]
    ends += ["ab", "x/b1", "12", '"', "]", "}"]
    hostile = [*ends, "null", *(writer("first", {"n": 2}) for writer in WRITERS.values())]
    everything = np.arange(vocab.n_vocab)
    (end,) = vocab.ends[:1]

    def take(token: int) -> bool:
        nonlocal text
        if token == end or not rules.accept(token):
            return False
        text += written[token].encode("utf-8", "surrogatepass") if token in written else vocab.piece(token)
        return True

    for at in range(2_000):
        allowed = everything[rules.allows(everything)]
        if end in allowed and (at > 60 or chance.random() < 0.2):
            break
        said = vocab.tokenize(chance.choice(ends if at > 60 else hostile), special=False)
        taken = [take(token) for token in (*said, *written)] if chance.random() < 0.7 else []
        if not any(taken):
            take(int(chance.choice(allowed)))
    return text.decode("utf-8", "surrogatepass")


@each_syntax
def test_the_constraint_begins_with_a_call_behind_the_reasoning(syntax: CallSyntax) -> None:
    whole = WRITERS[syntax.name]("first", {})
    opening, closing = syntax.reasoning
    assert whole.endswith(begun(syntax, whole) or "nothing")
    assert begun(syntax, f"{opening}Hm.{closing}\n{whole}")
    assert begun(syntax, f"They write {whole}") is None or syntax.trigger
    if not syntax.trigger:
        assert begun(syntax, f"Hm.{closing}\n{whole}", reasons=True)
        assert not begun(syntax, f"{opening}Hm.\n{whole}")
        assert not begun(syntax, f"Hm.\n{whole}", reasons=True)


@each_syntax
@pytest.mark.parametrize("text", ["Let me see.", "Let me see.\n\n  Well: "])
def test_a_call_on_the_line_of_a_text_is_held_where_its_marker_is_a_control_token(
    syntax: CallSyntax, text: str
) -> None:
    """Models of Mistral, LFM2 and Kimi write no line end before calls."""
    controls = {marker: 300 + i for i, marker in enumerate(syntax.markers)}
    opening, closing = syntax.reasoning
    if f"{syntax.around[0]}{syntax.held[0]}".startswith("«"):
        whole = WRITERS[syntax.name]("first", {})
        assert whole.endswith(begun(syntax, text + whole, controls=controls) or "nothing")
        if not syntax.trigger:
            assert begun(syntax, f"{opening}Hm.{closing}{text}{whole}", controls=controls)
            assert not begun(syntax, f"{opening}{text}{whole}", controls=controls)


@each_syntax
@pytest.mark.parametrize("one_call", [False, True])
def test_a_required_call_is_held_from_the_begin_of_the_answer(syntax: CallSyntax, one_call: bool) -> None:
    controls = {marker: 300 + i for i, marker in enumerate(syntax.markers)}
    required = partial(held, Sampling(), syntax, TOOLS, controls, must_call=True, one_call=one_call)
    at_once, behind = required(reasons=False), required(reasons=True)
    assert at_once.grammar == behind.grammar
    assert at_once.grammar_triggers == ()
    check_grammar(at_once.grammar or "")
    (pattern,) = behind.grammar_triggers
    closing = syntax.reasoning[1].encode()
    found = re.search(pattern.encode(), b"Hm." + closing + b"\nSo")
    assert found is not None
    assert found.start() == 3 + len(closing)


def test_a_call_cannot_be_required_where_nothing_holds_it() -> None:
    for sampling in (Sampling(mirostat=2), Sampling(grammar="x")):
        assert held(sampling, HERMES, TOOLS, {}, reasons=False) == sampling
        with pytest.raises(UsageError, match="cannot be required"):
            held(sampling, HERMES, TOOLS, {}, reasons=False, must_call=True)


@each_syntax
def test_an_answer_that_is_to_fit_a_schema_may_be_calls_instead(syntax: CallSyntax, vocab: LlamaVocab) -> None:
    """But neither prose, nor JSON of another form."""
    asked = Sampling(grammar=grammar_of_schema(json.dumps(object_schema({"time": {"type": "string"}}, ["time"]))))
    settings = held(asked, syntax, TOOLS, {}, reasons=False)
    assert settings.grammar_triggers == ()
    call = begun(syntax, WRITERS[syntax.name]("first", {"text": "a", "n": 7}).removesuffix("<|end_of_msg|>")) or ""
    texts = {'{"time": "noon"}': True, call.replace("'", '"'): True, '{"hour": 3}': False, "It is noon.": False}
    for text, fits in texts.items():
        rules = GuidanceRules.of(settings.grammar or "", vocab)
        assert all(map(rules.accept, vocab.tokenize(text, special=False))) == fits, text
    behind = held(asked, syntax, TOOLS, {}, reasons=True)
    assert behind.grammar == settings.grammar
    assert behind.grammar_triggers


@pytest.mark.parametrize(
    ("parameters", "arguments", "fits"),
    [
        (object_schema({"place": PARAMETERS["place"]}, ["place"]), {"place": {"name": "Bern"}}, True),
        (object_schema({"place": PARAMETERS["place"]}, ["place"]), {"place": {"name": 3}}, False),
        ({"properties": {"a": {}, "b": {"$ref": "#/properties/a"}}}, {"b": 3}, True),
    ],
)
def test_a_bare_call_beside_an_answer_is_held_to_what_the_schema_of_its_tool_refers_to(
    parameters: Arguments, arguments: Arguments, fits: bool, vocab: LlamaVocab
) -> None:
    """Other references than those to definitions hold it to nothing; an answer may name a tool."""
    tools = (replace(FIRST, parameters=json.dumps(parameters)), SECOND)
    asked = Sampling(grammar=grammar_of_schema(json.dumps(object_schema({"name": {"type": "string"}}, ["name"]))))
    settings = held(asked, BY_NAME["Llama 3"], tools, {}, reasons=False)
    for text, taken in ((WRITERS["Llama 3"]("first", arguments), fits), ('{"name": "Ann"}', True)):
        rules = GuidanceRules.of(settings.grammar or "", vocab)
        assert all(map(rules.accept, vocab.tokenize(text, special=False))) == taken


@pytest.mark.parametrize("with_controls", [False, True])
@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        ({"places": [{"name": "Bern"}, {"name": "5"}], "deep": {"deep": {"text": "5"}}}, True),
        ({"places": [], "deep": {}}, True),
        ({"table": [["1", "a"], [], ["b"]], "text": "a"}, True),
        ({"places": [{}]}, False),
        ({"places": [{"other": "Bern"}]}, False),
        ({"deep": {"text": "5"}}, False),
        ({"table": ["a"]}, False),
    ],
)
def test_lists_and_objects_may_stand_between_tags_where_the_syntax_has_them_so(
    arguments: Arguments, fits: bool, with_controls: bool, vocab: Any, marked_vocab: Any
) -> None:
    """They are held to the schema as JSON is, which they may be as well."""
    syntax, tools = BY_NAME["MiniMax-M3"], (replace(FIRST, parameters=json.dumps(NESTED)),)
    vocab = marked_vocab if with_controls else vocab
    marked = {NS: vocab.spare[0]} if with_controls else {}
    grammar = held(Sampling(), syntax, tools, marked, reasons=False, must_call=True).grammar or ""
    as_json = {key: value if isinstance(value, str) else json.dumps(value) for key, value in arguments.items()}
    for given_ in (arguments, as_json):
        rules = GuidanceRules.of(grammar, vocab)
        parts = WRITERS["MiniMax-M3"]("first", given_).split(NS)
        said = [vocab.tokenize(part, special=False) for part in parts]
        between = list(marked.values()) or vocab.tokenize(NS, special=False)
        tokens = [token for part in said for token in (*between, *part)][len(between) :]
        assert all(map(rules.accept, tokens)) == fits
