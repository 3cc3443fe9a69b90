"""Questions with JSON Schemas, in OpenAI's batch format: requests for replies that the draft learns from (`replies.py`).

    python assets/recipe/schemas.py requests.jsonl
    localspec batch requests.jsonl --target builtin-target.gguf --draft builtin-draft.gguf --out replies.jsonl
    python assets/recipe/distill.py ... --replies requests.jsonl replies.jsonl

The target was not trained on schemas, and says in a string what it would say at that place: a draft that never saw
such places guesses badly there. No property has a name that the schemas of the benchmarks have
(`tests/benchmarks/schemas`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from random import Random
from typing import Any

import words
from chats import Text, chats
from heldout import held_out_keys, untouched
from replies import Request, main, request

Schema = dict[str, Any]
LONG = (
    "answer",
    "reply",
    "text",
    "description",
    "explanation",
    "reason",
    "story",
    "review",
    "body",
    "content",
    "overview",
)
SHORT = (
    "label",
    "subject",
    "headline",
    "topic",
    "heading",
    "place",
    "author",
    "tool",
    "verb",
    "owner",
    "street",
    "unit",
)
LISTS = ("tags", "steps", "topics", "reasons", "examples", "words", "tips", "questions", "facts", "names", "lines")
NUMBERS = ("count", "score", "year", "price", "length", "width", "level", "rank", "minutes", "total", "rating", "page")
FLAGS = ("done", "known", "urgent", "valid", "public", "found", "safe", "active")
CHOICES = {
    "mood": ("happy", "sad", "angry", "calm"),
    "language": ("English", "French", "German", "Spanish"),
    "priority": ("low", "medium", "high"),
    "kind": ("question", "command", "story", "greeting"),
    "size": ("small", "medium", "large"),
    "state": ("new", "running", "failed", "finished"),
    "colour": ("red", "green", "blue", "yellow", "black"),
    "verdict": ("yes", "no", "unknown"),
}
PARTS = ("entries", "results", "parts", "chapters", "people", "choices", "sections", "rows")
WORDINGS = (
    "{ask}",
    "{ask}",
    "{ask}",
    "{ask} Answer in JSON.",
    "Answer in JSON: {ask}",
    "{ask} (JSON)",
    "As JSON: {ask}",
)
TEMPERATURES = (0.0, 0.3, 0.8, 0.8)
LONGEST = 160
"""Tokens a reply may have; one that is cut there is kept."""


def text(rng: Random) -> tuple[str, Schema]:
    """A string of some length, as most schemas are for."""
    schema: Schema = {"type": "string"}
    if rng.random() < 0.6:
        schema["maxLength"] = rng.choice((40, 60, 80, 120, 160, 200, 240, 300))
    return rng.choice(LONG), schema


def short(rng: Random) -> tuple[str, Schema]:
    schema: Schema = {"type": "string", "maxLength": rng.choice((20, 30, 40, 60, 80))}
    return rng.choice(SHORT if rng.random() < 0.9 else (words.noun(rng),)), schema


def several(rng: Random) -> tuple[str, Schema]:
    least = rng.randint(1, 3)
    item = {"type": "string", "maxLength": rng.choice((20, 40, 80))} if rng.random() < 0.6 else {"type": "string"}
    return rng.choice(LISTS), {"type": "array", "items": item, "minItems": least, "maxItems": least + rng.randint(0, 3)}


def number(rng: Random) -> tuple[str, Schema]:
    schema: Schema = {"type": rng.choice(("integer", "integer", "number"))}
    if rng.random() < 0.4:
        schema |= {"minimum": 0, "maximum": rng.choice((5, 10, 100, 2100))}
    return rng.choice(NUMBERS), schema


def flag(rng: Random) -> tuple[str, Schema]:
    return rng.choice(FLAGS), {"type": "boolean"}


def choice(rng: Random) -> tuple[str, Schema]:
    key = rng.choice(sorted(CHOICES))
    return key, {"enum": list(CHOICES[key])}


def part(rng: Random) -> tuple[str, Schema]:
    """A list of small objects."""
    least = rng.randint(1, 2)
    inner = fields(rng, rng.randint(1, 3), (short, number, choice, flag))
    return rng.choice(PARTS), {
        "type": "array",
        "items": inner,
        "minItems": least,
        "maxItems": least + rng.randint(0, 2),
    }


Field = Callable[[Random], tuple[str, Schema]]
FIELDS: tuple[Field, ...] = (text, text, text, short, short, several, several, number, flag, choice, part)


def fields(rng: Random, count: int, kinds: tuple[Field, ...] = FIELDS) -> Schema:
    """An object of so many properties, all of them required."""
    properties = dict(rng.choice(kinds)(rng) for _ in range(count))
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def requests(count: int, seed: int) -> Iterator[Request]:
    """Questions of the training text, each with a schema, as lines of OpenAI's batch format."""
    rng, keys = Random(seed), held_out_keys()
    asked = (chat for chat in chats(Text(count * 2, seed, single=1.0)) if untouched(chat, keys))
    for line, chat in enumerate(islice(asked, count)):
        *before, question, _ = chat
        wording = rng.choice(WORDINGS).replace("{ask}", question["content"])
        body = {
            "messages": [*before, {"role": "user", "content": wording}],
            "max_tokens": LONGEST,
            "temperature": rng.choice(TEMPERATURES),
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": fields(rng, rng.randint(1, 5))},
            },
        }
        yield request(line, body)


if __name__ == "__main__":
    main(__doc__, requests, 6_000, 41)
