"""Schemas and grammars too large to convert are refused before they are converted."""

from __future__ import annotations

import json

import pytest

from localspec.base.errors import UsageError
from localspec.engine.backends.llama.gbnf import check_grammar
from localspec.engine.backends.llama.json_schema import grammar_of_schema

TOO_LARGE = {
    "nested": ('{"items":' * 5000 + "{}" + "}" * 5000, "nested too deeply"),
    "nested beyond Python": ("[" * 200_000 + "]" * 200_000, "nested too deeply"),
    "many values": (json.dumps({"enum": list(range(100_000))}), "more than 20,000 values"),
    "many alternatives": (json.dumps({"anyOf": [{"const": i} for i in range(50_000)]}), "more than 20,000 values"),
    "many properties": (json.dumps({"properties": {f"p{i}": {"type": "null"} for i in range(5000)}}), "too many"),
    "long": (json.dumps({"const": "x" * 1_000_001}), "characters"),
    "a number beyond Python": ('{"const": ' + "9" * 5000 + "}", "not JSON that can be read"),
}


@pytest.mark.parametrize(("text", "why"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_a_schema_too_large_to_convert_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        grammar_of_schema(text)


def test_large_schemas_are_converted() -> None:
    """Thousands of values, and a hundred levels."""
    check_grammar(grammar_of_schema(json.dumps({"enum": [f"v{i}" for i in range(3000)]})))
    check_grammar(grammar_of_schema('{"type":"array","items":' * 100 + '{"type":"null"}' + "}" * 100))


def test_a_grammar_too_large_to_read_is_refused() -> None:
    with pytest.raises(UsageError, match="more than 50,000"):
        check_grammar("root ::= " + " | ".join(f'"{i}"' for i in range(100_000)))
    with pytest.raises(UsageError, match="characters"):
        check_grammar("root ::= [" + "a" * 2_000_000 + "]")
