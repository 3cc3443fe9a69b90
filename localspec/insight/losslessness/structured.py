"""Replies held to a JSON Schema: valid with speculation as without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from localspec.engine.events import FinishReason
from localspec.engine.settings import Sampling
from localspec.insight.losslessness.check import Check, CheckOutcome
from localspec.insight.losslessness.round_audit import RoundAudit
from localspec.insight.losslessness.subject import PLAIN, ScorablePair, Speculation, ask
from localspec.runtime.messages import Message, Role

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer"},
        "colour": {"enum": ["red", "green", "blue"]},
        "friends": {"type": "array", "items": {"type": "string", "maxLength": 12}, "maxItems": 3},
    },
    "required": ["name", "age", "colour", "friends"],
    "additionalProperties": False,
}
"""The schema that replies are held to; small, so that small models come to its end."""
_PROMPT = (Message(Role.USER, "Answer in JSON: name, age, favourite colour and friends of a made-up person."),)
_MAX_TOKENS = 160
_FIRST_SEED = 800_000_000
_TYPES = {"object": dict, "array": list, "string": str, "integer": int}


@dataclass(slots=True)
class _Tally:
    valid: int = 0
    invalid: int = 0
    unfinished: int = 0
    """Cut by the limit on tokens, so never judged."""
    texts: list[str] = field(default_factory=list)

    def add(self, text: str, finished: bool) -> None:
        if is_valid(text):
            self.valid += 1
        elif finished:
            self.invalid += 1
            self.texts.append(text)
        else:
            self.unfinished += 1

    def describe(self) -> str:
        cut = f", {self.unfinished} cut by the limit of tokens" if self.unfinished else ""
        return f"{self.valid} valid, {self.invalid} invalid{cut}"


@dataclass(slots=True)
class StructuredTest:
    """Asks for JSON with and without speculation."""

    pair: ScorablePair
    speculation: Speculation
    sampling: Sampling
    seed: int
    audit: RoundAudit

    def check(self, replies_n: int) -> Iterator[Check | None]:
        """None after each reply of either kind, then the result. Raises Cancelled."""
        from localspec.engine.backends.llama.json_schema import grammar_of_schema

        held = replace(self.sampling, grammar=grammar_of_schema(json.dumps(SCHEMA)))
        tallies = _Tally(), _Tally()
        for i in range(replies_n):
            for arm, speculation in enumerate((PLAIN, self.speculation)):
                seed = (_FIRST_SEED + self.seed + 2 * i + arm) % 2**32
                answer = ask(self.pair, _PROMPT, speculation.options(held, seed, _MAX_TOKENS))
                if speculation is not PLAIN:
                    self.audit.enter(answer)
                tallies[arm].add(answer.text, answer.reason is FinishReason.STOP)
            yield None
        yield _result(*tallies)


def _result(plain: _Tally, fast: _Tally) -> Check:
    figures = {
        "schema": SCHEMA,
        "plain": {"valid_n": plain.valid, "invalid_n": plain.invalid, "unfinished_n": plain.unfinished},
        "speculative": {"valid_n": fast.valid, "invalid_n": fast.invalid, "unfinished_n": fast.unfinished},
    }
    counts = f"plain {plain.describe()}; speculative {fast.describe()}"
    details = tuple(f"invalid: {text!r}" for text in (*plain.texts, *fast.texts))
    if plain.invalid or fast.invalid:
        where = "with speculation" if not plain.invalid else "even without speculation"
        return Check(
            "json",
            CheckOutcome.FAIL,
            f"Replies break the JSON Schema they are held to, {where}: {counts}.",
            details,
            figures,
        )
    if not fast.valid or not plain.valid:
        return Check(
            "json", CheckOutcome.OPEN, f"No reply came to its end within {_MAX_TOKENS} tokens: {counts}.", (), figures
        )
    return Check("json", CheckOutcome.PASS, f"Replies held to a JSON Schema fit it: {counts}.", (), figures)


def is_valid(text: str) -> bool:
    """True if a text is JSON that fits ``SCHEMA``."""
    try:
        return fits(json.loads(text), SCHEMA)
    except ValueError:
        return False


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """True if a value fits a schema, as far as ``SCHEMA`` uses the language (JSON Schema 2020-12)."""
    if "enum" in schema:
        return bool(value in schema["enum"])
    if not isinstance(value, _TYPES[schema["type"]]) or isinstance(value, bool):
        return False
    match value:
        case dict():
            known = schema["properties"]
            return set(schema["required"]) <= value.keys() <= known.keys() and all(
                fits(part, known[name]) for name, part in value.items()
            )
        case list():
            return all(fits(part, schema["items"]) for part in value) and len(value) <= int(schema["maxItems"])
        case str():
            return len(value) <= int(schema["maxLength"])
    return True
