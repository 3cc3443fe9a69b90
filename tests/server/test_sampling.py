"""The fields of requests: their types, and the sampling that they ask for."""

from __future__ import annotations

import json

import pytest

from localspec.base.errors import UsageError
from localspec.engine.settings import BANNED, Sampling
from localspec.server.failures import InvalidFieldError
from localspec.server.fields import Fields, fields_of_json
from localspec.server.sampling import held_to_grammar, held_to_schema, sampling_of

MIROSTAT = Sampling(mirostat=1)
OWN = Sampling(temperature=0.3, top_k=7)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({}, OWN),
        ({"temperature": 0, "top_k": None}, Sampling(temperature=0.0, top_k=7)),
        ({"temperature": 1e-40}, Sampling(temperature=0.0, top_k=7)),
        ({"top_k": 3.0, "num_keep": 4}, Sampling(temperature=0.3, top_k=3)),
        ({"repeat_last_n": 9, "mirostat_tau": 4.0, "xtc_threshold": 0.2}, OWN),
        ({"repeat_last_n": 9, "repeat_penalty": 1.1}, Sampling(0.3, 7, repeat_last_n=9, repeat_penalty=1.1)),
        ({"top_k": -1}, Sampling(temperature=0.3, top_k=0)),
        (
            {"repeat_last_n": -1, "repeat_penalty": 1.1, "dry_penalty_last_n": -1, "dry_multiplier": 0.8},
            Sampling(*(0.3, 7), repeat_last_n=2**20, repeat_penalty=1.1, dry_penalty_last_n=2**20, dry_multiplier=0.8),
        ),
        ({"repeat_last_n": 0, "repeat_penalty": 1.1, "dry_penalty_last_n": 0, "dry_multiplier": 0.8}, OWN),
        ({"top_p": 0, "top_k": 5}, Sampling(temperature=0.3, top_k=1, top_p=1.0)),
        ({"mirostat": 2, "top_k": 3}, Sampling(temperature=0.3, mirostat=2)),
        ({"logit_bias": {"5": -100}}, Sampling(0.3, 7, logit_bias=((5, -100.0),))),
        ({"logit_bias": [[5, False], [6, 1]]}, Sampling(0.3, 7, logit_bias=((5, BANNED), (6, 1.0)))),
        (
            {"dry_multiplier": 0.5, "dry_sequence_breakers": ["a"]},
            Sampling(0.3, 7, dry_multiplier=0.5, dry_sequence_breakers=("a",)),
        ),
    ],
)
def test_a_request_says_more_than_the_settings(sent: dict[str, object], expected: Sampling) -> None:
    assert sampling_of(Fields(sent), OWN) == expected


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ('{"temperature": "hot"}', "temperature has to be a number."),
        ('{"temperature": -1}', "temperature has to be a number from 0."),
        ('{"top_k": -2}', "top_k has to be a whole number of tokens from 0."),
        ('{"top_k": 1.5}', "top_k has to be a whole number."),
        ('{"top_p": true}', "top_p has to be a number."),
        ('{"logit_bias": {"the": 1}}', "logit_bias has to be an object of token ids, each with a number."),
        *(
            (f'{{"logit_bias": {biases}}}', "logit_bias has to be an object of token ids, each with a number.")
            for biases in ("false", '{"5": true}', '{"5": "1"}', "[[false, 1]]")
        ),
        (
            '{"logit_bias": {"5": 1e308}}',
            "logit_bias has to be an object of token ids, each with a number up to 1e+09.",
        ),
        ('{"dry_sequence_breakers": [1]}', "dry_sequence_breakers has to be a text or a list of texts."),
    ],
)
def test_a_wrong_value_names_its_field(sent: str, message: str) -> None:
    with pytest.raises(InvalidFieldError) as caught:
        sampling_of(fields_of_json(sent.encode()), OWN)
    assert caught.value.message == message
    assert caught.value.param == message.split()[0]


def test_a_bias_of_no_token_is_refused() -> None:
    with pytest.raises(UsageError, match="--logit-bias -1 is no token"):
        sampling_of(Fields({"logit_bias": {"-1": 5}}), OWN)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"[1]", b'{"a": ', b'{"a": "\xff"}', b'{"a": ["\\ud800"]}', b"[" * 100_000),
        *(b'{"temperature": NaN}', b'{"a": [1e999]}'),
    ],
)
def test_a_body_is_an_object_of_whole_text_and_finite_numbers(body: bytes) -> None:
    """Answers repeat parts of it, and could not write others."""
    with pytest.raises(InvalidFieldError):
        fields_of_json(body)


def test_fields_inside_fields_have_places() -> None:
    fields = fields_of_json(json.dumps({"messages": [{"role": "user", "content": {"text": 5}}], "n": None}).encode())
    (message,) = fields.objects("messages")
    assert message.text("role") == "user"
    content = message.object("content")
    assert content is not None
    with pytest.raises(InvalidFieldError, match=r"messages\[0\]\.content\.text has to be a text"):
        content.text("text")
    with pytest.raises(InvalidFieldError, match=r"messages\[0\]\.name is missing; it has to be a text"):
        message.text("name")
    assert fields.whole("n") is None
    assert fields.text("n", "none") == "none"
    for wrong in (lambda: fields.object("messages"), lambda: content.objects("text"), lambda: message.flag("role")):
        with pytest.raises(InvalidFieldError):
            wrong()


def test_a_seed_may_have_64_bits() -> None:
    sent: tuple[dict[str, int], ...] = ({}, {"seed": -1}, {"seed": 2**63 - 1}, {"seed": -5}, {"seed": 2**64})
    assert [Fields(each).seed(3) for each in sent] == [3, None, 2**63 - 1, 2**64 - 5, 0]
    with pytest.raises(InvalidFieldError):
        Fields({"seed": 2**65}).seed(None)


async def test_a_reply_is_held_to_a_schema_or_a_grammar() -> None:
    held = await held_to_schema(OWN, {"type": "object", "properties": {"a": {"type": "integer"}}})
    assert held.grammar
    assert '"a"' in held.grammar
    assert (await held_to_schema(OWN, True)).grammar
    assert (await held_to_grammar(OWN, 'root ::= "yes" | "no"')).grammar == 'root ::= "yes" | "no"'
    for wrong in (held_to_schema(OWN, 5), held_to_grammar(OWN, "root ::= other"), held_to_schema(MIROSTAT, {})):
        with pytest.raises((UsageError, InvalidFieldError)):
            await wrong
