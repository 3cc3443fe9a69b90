"""The sampling of a reply: what a request says, over the user's settings for the pair."""

from __future__ import annotations

import asyncio
import json
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from itertools import starmap
from typing import Any

from localspec.config.kinds import LARGEST_WHOLE, Number, RefusedValue
from localspec.config.table import find_key
from localspec.engine.settings import BANNED, MIROSTAT_IGNORES, Sampling
from localspec.server.failures import InvalidFieldError
from localspec.server.fields import Fields

NUMBERS = {field.name: field.type for field in dataclass_fields(Sampling) if field.type in ("float", "int")}
"""The numbers of ``Sampling``, named as llama-server's fields are, with their types."""
ALL = -1
"""All tokens of the vocabulary or of the context, as other servers write it."""
COUNTS = {"top_k": 0, "repeat_last_n": 2**20, "dry_penalty_last_n": 2**20}
"""The numbers of tokens that may be ``ALL``, each with what that is in ``Sampling``."""
_LEAST_TEMPERATURE = 1e-5
"""Smaller ones, which harnesses send for 0, would make scores too large for 32 bits."""
_DEFAULTS = Sampling()


def _off(*names: str) -> dict[str, Any]:
    return {name: getattr(_DEFAULTS, name) for name in names}


ZEROS: dict[str, dict[str, Any]] = {
    "top_p": {"top_p": 1.0, "top_k": 1},
    "repeat_last_n": _off("repeat_last_n", "repeat_penalty", "frequency_penalty", "presence_penalty"),
    "dry_penalty_last_n": _off("dry_penalty_last_n", "dry_multiplier"),
}
"""The numbers that may be 0, other than their settings, each with what that is in ``Sampling``."""
LARGEST_BIAS = 1e9
"""Scores with larger ones are no numbers any more in 32 bits, after the samplers have multiplied them."""


def sampling_of(fields: Fields, base: Sampling) -> Sampling:
    """``base`` with the numbers that ``fields`` name. Raises InvalidFieldError."""
    asked: dict[str, Any] = {}
    for name, kind in NUMBERS.items():
        value = (fields.whole if kind == "int" else fields.number)(name, LARGEST_WHOLE)
        if value is not None:
            asked[name] = _checked(fields, name, value)
    for name, meant in ZEROS.items():
        if asked.get(name) == 0:
            asked |= meant
    if breakers := fields.texts("dry_sequence_breakers"):
        asked["dry_sequence_breakers"] = breakers
    if asked.get("mirostat", base.mirostat):
        base = replace(base, **_off(*MIROSTAT_IGNORES))
        asked = {name: value for name, value in asked.items() if name not in MIROSTAT_IGNORES}
    if 0 < asked.get("temperature", 1) < _LEAST_TEMPERATURE:
        asked["temperature"] = 0.0
    sampling = replace(base, **asked, logit_bias=_biases(fields) or base.logit_bias).without_idle()
    sampling.check()
    return sampling


def _checked(fields: Fields, name: str, value: float) -> float:
    if value == ALL and name in COUNTS:
        return COUNTS[name]
    if value == 0 and name in ZEROS:
        return value
    setting = find_key(name)
    if setting is not None and isinstance(setting.kind, Number):
        try:
            setting.kind.check(value)
        except RefusedValue:
            fields.refuse(name, setting.kind.form)
    return value


def _biases(fields: Fields) -> tuple[tuple[int, float], ...]:
    """The biases, from OpenAI's object or from llama-server's list of pairs, where false rules a token out."""
    value = fields.raw("logit_bias")
    pairs: Any = list(value.items()) if isinstance(value, dict) else [] if value is None else value
    try:
        biases = dict(starmap(_bias, pairs if isinstance(pairs, list) else [()]))
    except (TypeError, ValueError, OverflowError):
        fields.refuse("logit_bias", "an object of token ids, each with a number")
    if any(abs(bias) > LARGEST_BIAS and bias != BANNED for bias in biases.values()):
        fields.refuse("logit_bias", f"an object of token ids, each with a number up to {LARGEST_BIAS:g}")
    return tuple(biases.items())


def _bias(token: object, bias: object) -> tuple[int, float]:
    """A token and its bias as they are in JSON. Raises TypeError, ValueError or OverflowError."""
    if isinstance(token, bool) or not isinstance(token, int | str):
        raise TypeError
    if bias is False:
        return int(token), BANNED
    if isinstance(bias, bool) or not isinstance(bias, int | float):
        raise TypeError
    return int(token), float(bias)


async def held_to_schema(sampling: Sampling, schema: Any) -> Sampling:
    """The sampling with replies that fit a JSON Schema; ``True`` stands for any JSON object. Raises UsageError."""
    from localspec.engine.backends.llama.json_schema import grammar_of_schema  # loads a library

    text = json.dumps({"type": "object"} if schema is True else schema)
    return _held(sampling, await asyncio.to_thread(grammar_of_schema, text))


async def held_to_grammar(sampling: Sampling, grammar: str) -> Sampling:
    """The sampling with replies that a grammar allows. Raises UsageError."""
    from localspec.engine.backends.llama.grammar import check_grammar  # loads a library

    await asyncio.to_thread(check_grammar, grammar)
    return _held(sampling, grammar)


def _held(sampling: Sampling, grammar: str) -> Sampling:
    if sampling.mirostat:
        raise InvalidFieldError("mirostat cannot be used with a grammar or a JSON Schema.", "Leave one of them out.")
    return replace(sampling, grammar=grammar, grammar_triggers=())
