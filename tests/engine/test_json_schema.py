"""JSON Schemas: a reply fits its schema, or the schema is refused with a sentence that names the keyword."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, conlist

from localspec.base.errors import UsageError
from localspec.engine.backends.llama.grammar import Grammar, check_grammar
from localspec.engine.backends.llama.json_schema import grammar_of_schema
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.settings import Sampling
from tests.engine.vocabulary import builtin_vocab
from tests.schema_replies import replies, takes

REPLIES = 20


@pytest.fixture(scope="module")
def vocab() -> Iterator[LlamaVocab]:
    with builtin_vocab() as vocab:
        yield vocab


def tagged(kind: str, **more: Any) -> dict[str, Any]:
    """An object that says which case of a union it is."""
    properties = {"k": {"const": kind}, **more}
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def either(*names: str) -> dict[str, Any]:
    return {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in names]}


KEPT: list[tuple[dict[str, Any], list[Any], list[Any]]] = [
    ({"type": "integer"}, [-3, 0, 12], [1.5, "1", None]),
    ({"type": "integer", "minimum": -3, "exclusiveMaximum": 12, "multipleOf": 3}, [-3, 0, 9], [-6, 4, 12]),
    ({"type": "number", "exclusiveMinimum": 0, "maximum": 1.5}, [0.25, 1.5], [0, 1.75, -1]),
    ({"type": ["string", "null"], "maxLength": 4}, ["a b", None, '"'], [3, {}, "abcde"]),
    ({"enum": ["a\nb", 'c"d', "e\\", 1]}, ["a\nb", 'c"d', "e\\", 1], ["a", 2]),
    ({"const": {"a": [1, "x\\y"]}}, [{"a": [1, "x\\y"]}], [{"a": [1]}]),
    ({"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 2}, [[True]], [[], [True] * 3]),
    ({"type": "array", "maxItems": 1, "uniqueItems": True}, [[], [3]], [[3, 3]]),
    (
        {"type": "array", "items": {"enum": ["a", 1, None]}, "uniqueItems": True, "minItems": 1},
        [["a", None], [1]],
        [["a", "a"], [], ["b"]],
    ),
    (  # what is said twice, and what the values themselves are not
        {"type": "array", "items": {"enum": ["a", 1, "a", "bc"], "type": "string"}, "uniqueItems": True},
        [["a"], ["bc"], [], ["a", "bc"]],
        [[1], ["a", "a"], ["a", "a", "bc"]],
    ),
    ({"type": "array", "prefixItems": [{"const": 1}], "items": False}, [[1], []], [[2], [1, 1]]),
    ({"type": "string", "pattern": "^[a-c]{2,3}(x|y)$"}, ["abx", "abcy"], ["ax", "abz"]),
    ({"type": "string", "pattern": "b+"}, ["abc", "b"], ["ac"]),
    ({"type": "string", "minLength": 1, "maxLength": 2}, ["a", "\n"], ["", "abc"]),
    ({"type": "string", "maxLength": 500}, ["", "a" * 500], ["a" * 501]),
    ({"type": "string", "format": "date"}, ["2024-02-03"], ["2024-2-3", "today"]),
    ({"properties": {"item": {"items": {"enum": [1]}}}}, [{"item": [1]}, {}], [{"item": 1}, {"other": 1}, 3]),
    ({"properties": {"a": {"type": "null"}}, "additionalProperties": {"const": 1}}, [{"b": 1}], [{"b": 2}, {"a": 1}]),
    ({"properties": {'a"b': {"type": "null"}}, "required": ['a"b']}, [{'a"b': None}], [{}, {"a": None}]),
    ({"properties": {"a": {"type": "null"}}, "patternProperties": {"^x": {"const": 1}}}, [{"a": None, "x1": 1}], []),
    ({"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1}, [{"a": 1}], [{}, {"a": ""}]),
    ({"allOf": [{"type": "integer"}, {"minimum": 5}]}, [5, 60], [4]),
    (
        {"oneOf": [{"type": "integer"}, {"type": "string"}], "deprecated": True, "discriminator": {"mapping": {}}},
        [1, "x"],
        [None],
    ),
    (
        {  # two references with the same last name, one of which is also a property's
            "properties": {"x": {"$ref": "#/$defs/x"}, "y": {"$ref": "#/definitions/x"}},
            "required": ["x", "y"],
            "$defs": {"x": {"enum": [1]}},
            "definitions": {"x": {"enum": [2]}},
        },
        [{"x": 1, "y": 2}],
        [{"x": 1, "y": 1}, {"x": 2, "y": 2}],
    ),
    (
        {"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}},
        [[], [[], [[]]]],
        [[1]],
    ),
    ({"type": "null", "$defs": {"a": {"properties": 3}, "b": {"properties": {"c": {}}, "required": 3}}}, [None], [3]),
    (
        {  # a union that is part of itself; what says nothing about a reply stands behind its references
            **either("secret", "pair%20of"),
            "$defs": {
                "secret": {**tagged("s", p={"type": "string", "format": "password"}), "deprecated": True},
                "pair of": tagged("p", **{"l/~ %": either("secret", "pair%20of")}),
            },
        },
        [{"k": "s", "p": ""}, {"k": "p", "l/~ %": {"k": "p", "l/~ %": {"k": "s", "p": "x"}}}],
        [{"k": "s"}, {"k": "p", "l/~ %": {"k": "x"}}],
    ),
]


@pytest.mark.parametrize(("schema", "right", "wrong"), KEPT, ids=repr)
def test_a_reply_fits_its_schema(vocab: LlamaVocab, schema: Any, right: list[Any], wrong: list[Any]) -> None:
    """What fits can be said, what does not cannot; and what is said at temperature 1.5 is valid."""
    grammar, validator = grammar_of_schema(json.dumps(schema)), Draft202012Validator(schema)
    assert [value for value in right if not takes(grammar, value, vocab)] == []
    assert [value for value in wrong if takes(grammar, value, vocab)] == []
    said = list(replies(grammar, vocab, REPLIES))
    assert said
    assert [value for value in said if not validator.is_valid(value)] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"type":\n "integer" 3}', "line 2, column 12"),
        ("", "line 1, column 1"),
        ("[]", "object"),
        ('{"const": 1e999}', "not JSON that can be read"),
        (f'{{"const": {"9" * 5000}}}', "not JSON that can be read"),
        (r'{"const": "\ud800"}', "not JSON that can be read"),
        ('{"properties": {"a": {"uniqueItems": true}}}', "'uniqueItems', at #/properties/a"),
        ('{"items": {"not": {}}}', "'not', at #/items"),
        ('{"type": "string", "format": "iri"}', "'format' 'iri'"),
        ('{"type": "string", "pattern": "(?=a)"}', "'pattern' .*look-around"),
        ('{"patternProperties": {"^a": true, "^ab": true}}', "'patternProperties' .*disjoint"),
        ('{"oneOf": [{"type": "string"}, {"maxLength": 2}]}', "'oneOf'"),
        ('{"allOf": [{"type": "string"}, {"type": "null"}]}', "incompatible types"),
        ('{"allOf": [true, false]}', r"'allOf' \(.*false\), at #"),
        ('{"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": false}}', r"'\$ref' \(.*false\), at #/anyOf/0"),
        ('{"type": "thing"}', "'type' 'thing'"),
        ('{"$ref": "https://example.org/schema"}', r"'\$ref' 'https://example.org/schema'"),
        ('{"$ref": "#/$defs/absent"}', r"'\$ref' '#/\$defs/absent'"),
        ('{"enum": 3}', "'enum'"),
        ('{"properties": 3}', "'properties'"),
        ('{"type": "integer", "minimum": 3, "maximum": 2}', "minimum .* maximum"),
        ('{"minProperties": 2}', "'minProperties' 2, since a property may come twice"),
        ('{"minimum": 9007199254740993}', "'minimum' with a number beyond"),
        ('{"items":' * 5000 + "{}" + "}" * 5000, "nested too deeply"),
        ('{"items":' * 300 + "{}" + "}" * 300, "nested too deeply"),
        ("[" * 200_000 + "]" * 200_000, "nested too deeply"),
        (json.dumps({"anyOf": [{"const": i} for i in range(50_000)]}), "too large"),
        (json.dumps({"const": "x" * 1_000_001}), "characters"),
        (
            json.dumps({**either(*["a"] * 300), "$defs": {"a": tagged("a", **{str(i): {} for i in range(300)})}}),
            "large",
        ),
        ('{"items": {"enum": [1, 2]}, "uniqueItems": true, "minItems": 1.0}', "'uniqueItems'"),
        ('{"oneOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"properties": 3}}}', "'properties'"),
    ],
    ids=lambda text: text[:40],
)
def test_what_no_reply_could_be_held_to_is_refused(text: str, said: str, capfd: Any) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        grammar_of_schema(text)
    assert refused.value.hint
    assert capfd.readouterr() == ("", "")


def test_what_the_user_wrote_to_be_lenient_is_lenient(vocab: LlamaVocab) -> None:
    """And white space is as the schema says, if it says so."""
    own = {"lenient": True, "whitespace_flexible": True}
    grammar = grammar_of_schema(json.dumps({"type": "array", "uniqueItems": True, "x-guidance": own}))
    place = Grammar.of(Sampling(grammar=grammar), vocab)
    for token in vocab.tokenize("[1 ,\n 1]", special=False):
        place.accept(token)
    assert place.left_by is None


def chain(n: int) -> dict[str, Any]:
    """A schema that refers to one that refers to one, and so on."""
    names = [{"properties": {"next": {"$ref": f"#/$defs/{i + 1}"}}} for i in range(n)]
    return {"$ref": "#/$defs/0", "$defs": {str(i): part for i, part in enumerate([*names, {"type": "string"}])}}


@pytest.mark.parametrize(
    "refer",
    [
        lambda schema: schema,
        lambda schema: {**schema, "$defs": schema["$defs"] | {"3000": {"items": {"$ref": "#"}}}},
        lambda schema: {**schema, "$defs": schema["$defs"] | {"1500": {"items": {"$ref": "#1501"}}}},
        lambda schema: json.loads(
            json.dumps({"prefixItems": [*schema["$defs"].values()]}).replace("$defs", "prefixItems")
        ),
    ],
    ids=["a chain", "a circle", "an anchor", "a list"],
)
def test_references_as_deep_as_would_end_the_process_are_refused(refer: Callable[[Any], Any]) -> None:
    """Llguidance calls itself for each, and has no limit."""
    text = json.dumps(refer(chain(3000)))
    for grammar in (f"%llguidance {{}}\nstart: %json {text}", f'{{"grammars": [{{"json_schema": {text}}}]}}'):
        with pytest.raises(UsageError, match="used: it is nested too deeply, or its references are"):
            check_grammar(grammar)


def test_a_chain_of_references_is_named_as_too_deep() -> None:
    with pytest.raises(UsageError, match="The JSON Schema is nested too deeply"):
        grammar_of_schema(json.dumps(chain(3000)))


def test_many_references_are_taken() -> None:
    """Also those of a hundred classes that may have each other as members."""
    union = {"anyOf": [{"$ref": f"#/$defs/{i}"} for i in range(100)]}
    parts = {str(i): tagged(str(i), some={"type": "array", "items": union}, other=union) for i in range(100)}
    flat = {f"p{i}": {"$ref": f"#/$defs/{i % 100}"} for i in range(3000)}
    check_grammar(grammar_of_schema(json.dumps({"properties": flat, "$defs": parts})))
    check_grammar(grammar_of_schema(json.dumps(chain(300))))


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"multipleOf": 10_000_019}, "'multipleOf', at # "),
        ({"multipleOf": -0.1234567}, "'multipleOf'"),
        ({"multipleOf": 10**400 + 1}, "'multipleOf'"),
        ({"multipleOf": True}, "'multipleOf'"),
        ({"allOf": [{"multipleOf": 9973}, {"multipleOf": 9967}]}, "the numbers of 'multipleOf' are too large"),
        ({"properties": {str(n): {"multipleOf": n} for n in range(50_001, 50_010)}}, "the numbers of 'multipleOf'"),
    ],
)
def test_numbers_over_which_llguidance_would_hang_are_refused(schema: dict[str, Any], said: str) -> None:
    """It goes through all remainders before it answers."""
    with pytest.raises(UsageError, match=said):
        grammar_of_schema(json.dumps(schema))


def test_numbers_that_are_multiples_of_common_ones_are_taken() -> None:
    """Factors of ten are no work."""
    common = (0.01, 1e-7, 0.25, 5, 60, 1000, 25_000_000)
    check_grammar(grammar_of_schema(json.dumps({"items": {"anyOf": [{"multipleOf": n} for n in common]}})))


def test_what_is_refused_of_a_large_schema_is_not_searched_for_long() -> None:
    """Each keyword is tried with all definitions: that took minutes."""
    circles = {
        f"{n}{i}": {"properties": {"a": {"$ref": f"#/$defs/{n}{(i + 1) % n}"}}} for n in (5, 7) for i in range(n)
    }
    many = {f"c{i}": {"anyOf": [{"type": "null"}]} for i in range(2000)}
    schema = {"allOf": [{"$ref": "#/$defs/50"}, {"$ref": "#/$defs/70"}], "$defs": {**circles, **many}}
    with pytest.raises(UsageError, match="to the JSON Schema: Schema intersection stack level exceeded"):
        grammar_of_schema(json.dumps(schema))


def test_large_schemas_are_taken() -> None:
    check_grammar(grammar_of_schema(json.dumps({"enum": [f"v{i}" for i in range(20_000)]})))
    check_grammar(grammar_of_schema('{"type":"array","items":' * 100 + '{"type":"null"}' + "}" * 100))


@pytest.mark.parametrize("value", ["a\nb", {"a\nb": 1}], ids=repr)
def test_a_string_has_no_line_breaks(vocab: LlamaVocab, value: Any) -> None:
    place = Grammar.of(Sampling(grammar=grammar_of_schema('{"type": ["string", "object"]}')), vocab)
    for token in vocab.tokenize(json.dumps(value).replace("\\n", "\n"), special=False):
        place.accept(token)
    assert place.left_by is not None


def test_a_control_token_is_no_text(vocab: LlamaVocab) -> None:
    """Not within a string either, whatever is written for it."""
    place = Grammar.of(Sampling(grammar=grammar_of_schema('{"type": "string"}')), vocab)
    controls = [t for t in range(vocab.n_vocab) if vocab.is_control(t)]
    for token in vocab.tokenize('"some text', special=False):
        assert controls
        assert not place.allows(np.array(controls)).any()
        place.accept(token)


def test_a_compiled_schema_is_kept(vocab: LlamaVocab, monkeypatch: pytest.MonkeyPatch) -> None:
    """From reply to reply; and no reply sees what another said."""
    settings = Sampling(grammar=grammar_of_schema('{"const": "kept"}'))
    first = Grammar.of(settings, vocab)
    monkeypatch.setattr("localspec.engine.backends.llama.guidance._matcher", lambda *_: pytest.fail("compiled again"))
    first.accept(vocab.tokenize('"', special=False)[0])
    second = Grammar.of(settings, vocab)
    assert second.forced == vocab.tokenize('"kept"', special=False)[0]


LOOKED_AT = (
    '{"properties": {"kind": {"const": "cat food"}, "is": {"enum": ["red apple", "red pear", 1]}}, "required": ["is"]}',
    '{"type": "array", "items": {"type": "string", "maxLength": 9}, "minItems": 1}',
)


@pytest.mark.parametrize("schema", LOOKED_AT)
@given(st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=30)
def test_whoever_looks_ahead_leaves_the_others_where_they_are(vocab: LlamaVocab, schema: str, choice: Random) -> None:
    """Places of one reply say what one that came there alone would say, in whatever order they go on and are asked."""
    sampling, everything = Sampling(grammar=grammar_of_schema(schema)), np.arange(vocab.n_vocab)
    alone: dict[tuple[int, ...], tuple[int | None, list[int]]] = {}
    places: list[tuple[Grammar, tuple[int, ...]]] = [(Grammar.of(sampling, vocab), ())]
    for _ in range(30):
        place, said = choice.choice(places)
        if said not in alone:
            only = Grammar.of(sampling, vocab)
            for token in said:
                only.accept(token)
            alone[said] = only.forced, np.flatnonzero(only.allows(everything)).tolist()
        forced, fitting = alone[said]
        some = np.array(choice.sample(range(vocab.n_vocab), 3) + choice.sample(fitting, min(3, len(fitting))))
        match choice.randrange(4):
            case 0:
                assert place.forced == forced
            case 1:
                assert place.allows(some).tolist() == [token in fitting for token in some.tolist()]
            case 2:
                assert (few := place.few) is None or few.tolist() == fitting
            case _:
                assert place.allows(everything).nonzero()[0].tolist() == fitting
        texts = [token for token in fitting if not vocab.is_end(token)]
        if texts:
            token = choice.choice(texts)
            ahead = place.fork() if choice.random() < 0.5 else place
            ahead.accept(token)
            assert ahead.left_by is None
            places = [each for each in places if each[0] is not ahead] + [(ahead, (*said, token))]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: Annotated[int, Field(ge=0, le=9)] = 9


class Dog(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["dog"]
    name: str


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Order(BaseModel):
    id: UUID
    at: datetime
    email: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$")]
    items: conlist(str, min_length=1, max_length=3)  # type: ignore[valid-type]
    note: str | None = Field(None, description="free", max_length=80, deprecated=True)
    total: Annotated[float, Field(gt=0, lt=1e6)]
    pets: dict[str, Cat | Dog]


PET = Annotated[Cat | Dog, Field(discriminator="kind")]
SHAPES: list[tuple[Any, Any]] = [
    (int, 3),
    (float, 2.5),
    (bool, True),
    (str, "a"),
    (None, None),
    (date, "2024-02-03"),
    (datetime, "2024-02-03T04:05:06Z"),
    (UUID, "12345678-1234-5678-1234-567812345678"),
    (Decimal, 1.5),
    (AnyUrl, "https://example.org/"),
    (IPv4Address, "127.0.0.1"),
    (Path, "/tmp/x"),
    (SecretStr, "secret"),
    (Colour, "blue"),
    (Literal["a", 1], 1),
    (int | None, None),
    (list[int], [1, 2]),
    (tuple[int, str], [1, "a"]),
    (tuple[int, ...], [1, 2, 3]),
    (dict[str, float], {"a": 1.0}),
    (dict[Literal["a", "b"], int], {"b": 3}),
    (dict[Colour, int | None], {"red": None}),
    (list[list[bool | str]], [[True, "x"], []]),
    (Annotated[int, Field(ge=1, le=12)], 12),
    (Annotated[float, Field(gt=0, multiple_of=0.5)], 1.5),
    (Annotated[str, Field(min_length=2, max_length=4)], "abc"),
    (Annotated[str, Field(pattern=r"^\d{3}-[a-z]+$")], "123-abc"),
    (Annotated[list[Colour], Field(max_length=2)], ["red"]),
    (set[Colour], ["red", "blue"]),
    (Annotated[frozenset[Literal["a", "b", "c"]], Field(min_length=1)], ["a", "c"]),
    (Annotated[dict[str, int], Field(min_length=1, max_length=3)], {"a": 1}),
    (Cat, {"kind": "cat", "lives": 3}),
    (Dog, {"kind": "dog", "name": "Rex"}),
    (PET, {"kind": "dog", "name": "Rex"}),
    (list[PET], [{"kind": "cat"}]),
    (Node, {"value": 1, "children": [{"value": 2, "children": []}]}),
    (
        Order,
        {
            "id": "12345678-1234-5678-1234-567812345678",
            "at": "2024-02-03T04:05:06Z",
            "email": "a@b",
            "items": ["x"],
            "note": None,
            "total": 2.5,
            "pets": {"Tom": {"kind": "cat", "lives": 3}},
        },
    ),
]


@pytest.mark.parametrize(("shape", "value"), SHAPES, ids=repr)
def test_what_pydantic_writes_is_taken(vocab: LlamaVocab, shape: Any, value: Any) -> None:
    """And what is said is what pydantic reads."""
    adapter = TypeAdapter(shape)
    grammar = grammar_of_schema(json.dumps(adapter.json_schema()))
    assert takes(grammar, value, vocab)
    for said in replies(grammar, vocab, 3):
        Draft202012Validator(adapter.json_schema()).validate(said)


def test_cases_that_refer_to_each_other_are_not_written_out_without_end() -> None:
    """Each of these properties would hold copies of all others: 3 ** 20 of them."""
    many = tagged("a", **{str(i): either("a", "b") for i in range(20)})

    assert len(grammar_of_schema(json.dumps({**either("a", "b"), "$defs": {"a": many, "b": tagged("b")}}))) < 50_000
