"""Questions with JSON Schemas, in OpenAI's batch format, and the conversations that their answers make.

    python assets/recipe/schemas.py requests.jsonl
    localspec batch requests.jsonl --target builtin-target.gguf --draft builtin-draft.gguf --out replies.jsonl
    python assets/recipe/distill.py ... --replies requests.jsonl replies.jsonl

The target writes the replies itself. With ``--free`` there are no schemas: the draft learns what the target says at the
tour's temperature, which is less varied than its training text.

The target was not trained on schemas, and says in a string what it would say at that place: a draft that never saw
such places guesses badly there. No property has a name that the schemas of the benchmarks have
(`tests/benchmarks/schemas`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import words
from chats import Text, chats
from heldout import held_out_keys, untouched
from turns import Chat

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
STORY_LENGTH, STORY_WORDS = 250, ("story", "tale")
"""A reply of more characters to a question with one of these words is taken for a story."""
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


def requests(count: int, seed: int) -> Iterator[dict[str, Any]]:
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
            "seed": line,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": fields(rng, rng.randint(1, 5))},
            },
        }
        yield {"custom_id": str(line), "method": "POST", "url": "/v1/chat/completions", "body": body}


def free(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Questions of the training text as they are, to be answered as in the tour; three of five ask for a story."""
    keys, left = held_out_keys(), {True: count * 3 // 5, False: count - count * 3 // 5}
    asked = (chat for chat in chats(Text(count * 200, seed, single=1.0)) if untouched(chat, keys))
    line = 0
    for *before, question, reply in asked:
        told = len(reply["content"]) > STORY_LENGTH and any(word in question["content"].lower() for word in STORY_WORDS)
        if not left[told]:
            continue
        left[told] -= 1
        body = {"messages": [*before, question], "max_tokens": 200, "temperature": 0.3, "top_p": 0.9, "seed": line}
        yield {"custom_id": str(line), "method": "POST", "url": "/v1/chat/completions", "body": body}
        line += 1
        if not any(left.values()):
            return


def answered(asked: Path, replies: Path) -> Iterator[Chat]:
    """The conversations of a batch, each with its reply; refused requests are left out."""
    requests_of = {request["custom_id"]: request["body"] for request in _lines(asked)}
    for reply in _lines(replies):
        if reply["response"] and reply["response"]["status_code"] == 200:
            said = reply["response"]["body"]["choices"][0]["message"]["content"]
            yield [*requests_of[reply["custom_id"]]["messages"], {"role": "assistant", "content": said}]


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=6_000)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--free", action="store_true", help="questions without a schema, most of them for stories")
    options = parser.parse_args()
    lines = (free if options.free else requests)(options.count, options.seed)
    with options.out.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    main()
