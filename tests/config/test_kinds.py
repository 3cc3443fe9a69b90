"""Kinds of values: ports, files, patterns and biases are taken as they are meant, and nothing else is."""

from __future__ import annotations

import tomllib

import pytest

from localspec.config import setting
from localspec.config.kinds import RefusedValue, Value, typed


@pytest.mark.parametrize(
    ("key", "given", "taken"),
    [
        ("metrics", 9464, 9464),
        ("metrics", "9464", 9464),
        ("metrics", " 0 ", 0),
        ("metrics", "none", "none"),
        ("metrics", "~/figures.prom", "~/figures.prom"),
        ("audit_log", "9464", "9464"),
        ("redact", [r"sk-\w+", "a b"], (r"sk-\w+", "a b")),
        ("redact", "one", ("one",)),
    ],
)
def test_what_is_meant(key: str, given: object, taken: Value) -> None:
    """As the file has it, and as it is shown to be changed."""
    assert setting(key).kind.check(given) == taken
    assert setting(key).kind.read(typed(taken)) == taken


@pytest.mark.parametrize(
    ("key", "given"),
    [
        *(("metrics", wrong) for wrong in (-1, 65536, "65536", 1.5, True, "", " ", "a\0b", None)),
        *(("audit_log", wrong) for wrong in (5, "", "\n", False)),
        *(("logit_bias", wrong) for wrong in ("5", "x=1", "5=x", ["5=ban", "6=loud"], "5=1=2")),
        *(("redact", wrong) for wrong in (["("], ["ok", "[a"], [""], 5)),
        *(("rpc", wrong) for wrong in ("gpu", "gpu:0", "gpu:65536", "gpu:1,:2", "gpu:1,gpu:99999", 50052)),
    ],
)
def test_what_is_refused(key: str, given: object) -> None:
    """Before anything is opened."""
    with pytest.raises(RefusedValue):
        setting(key).kind.check(given)


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("true", "true"),
        ("1979-05-27", "1979-05-27"),
        ("07:32:00", "07:32:00"),
        ('["a", 1.5, [false]]', '["a", 1.5, [false]]'),
        ("[{a = 1, 'b c' = 2}]", '[{ a = 1, "b c" = 2 }]'),
    ],
)
def test_a_refusal_spells_a_value_as_the_file_does(toml: str, said: str) -> None:
    with pytest.raises(RefusedValue) as refused:
        setting("top_k").kind.check(tomllib.loads(f"value = {toml}")["value"])
    assert str(refused.value).endswith(f", not {said}")


def test_no_conversation_has_outlets_of_its_own() -> None:
    """What is to be on record is not for a conversation to turn off."""
    assert not any(setting(key).per_conversation for key in ("metrics", "audit_log", "redact", "watch"))
