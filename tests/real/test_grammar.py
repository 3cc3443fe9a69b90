"""Replies held to a grammar, drafted by the built-in pair: every one is a sentence of it, and ends where it must.

python -m tests.real.test_grammar 500      as many replies as one likes
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

from localspec.engine.backends.llama.json_schema import grammar_of_schema
from localspec.engine.costs import Costs
from localspec.engine.depth import FixedDepth
from localspec.engine.dist import SeededRng
from localspec.engine.drafter import Drafter
from localspec.engine.drafters.draft import DraftModel
from localspec.engine.drafters.grammar import GrammarDrafter
from localspec.engine.drafters.suffix import SuffixDrafter
from localspec.engine.events import FinishReason
from localspec.engine.loop import Request, generate
from localspec.engine.settings import Sampling
from tests.real.duo import Duo, Reply

REPLIES = 60
QUESTIONS = ("Who are you?", "Tell me a story about a fox.", "Write JSON.", "Count from 1 to 5.", "What is depth?")


def _is_person(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and list(value) in (["name", "age"], ["name", "age", "tame"])
        and isinstance(value["name"], str)
        and len(value["name"]) <= 12
        and type(value["age"]) is int
        and isinstance(value.get("tame", True), bool)
    )


def _is_colours(value: Any) -> bool:
    return isinstance(value, list) and 1 <= len(value) <= 3 and all(item in ("red", "blue", None) for item in value)


def _is_tree(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() <= {"left", "leaf"}
        and all(part in (1, 2.5) if key == "leaf" else _is_tree(part) for key, part in value.items())
    )


SCHEMAS: list[tuple[dict[str, Any], Callable[[Any], bool]]] = [
    (
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 12},
                "age": {"enum": [1, 20, 33]},
                "tame": {"type": "boolean"},
            },
            "required": ["name", "age"],
            "additionalProperties": False,
        },
        _is_person,
    ),
    ({"type": "array", "items": {"enum": ["red", "blue", None]}, "minItems": 1, "maxItems": 3}, _is_colours),
    (
        {
            "$ref": "#/$defs/tree",
            "$defs": {
                # Not of itself: a small model may nest without end, and a reply that the limit cuts is not whole.
                "tree": {"properties": {"left": {"$ref": "#/$defs/twig"}, "leaf": {"enum": [1, 2.5]}}},
                "twig": {"properties": {"left": {"$ref": "#/$defs/bud"}, "leaf": {"enum": [1, 2.5]}}},
                "bud": {"properties": {"leaf": {"enum": [1, 2.5]}}},
            },
        },
        _is_tree,
    ),
    ({"type": "string", "pattern": "^[A-Z][a-z]{2,9}( [a-z]{1,4})?$"}, lambda v: bool(re.fullmatch("[A-Z][a-z ]+", v))),
]


def replies(duo: Duo, number: int) -> tuple[int, int, int]:
    """Of ``number`` seeded replies, with speculation on: how many fit their schema; proposals; accepted ones."""
    right_n = draft_n = accepted_n = 0
    grammars = [grammar_of_schema(json.dumps(schema)) for schema, _ in SCHEMAS]
    for seed in range(number):
        fits, grammar = SCHEMAS[seed % len(SCHEMAS)][1], grammars[seed % len(SCHEMAS)]
        prompt = duo.prompt(QUESTIONS[seed % len(QUESTIONS)])
        settings = Sampling(temperature=(0.0, 0.7, 1.5)[seed % 3], grammar=grammar)
        reply = duo.ask(
            prompt,
            (1, 3, 7)[seed // 3 % 3],
            sampler=duo.sampler(settings, prompt),
            rng=SeededRng(seed),
            max_tokens=300,
        )
        right_n += _is_right(reply, fits)
        draft_n += reply.finished.timings.draft_n
        accepted_n += reply.finished.timings.draft_n_accepted
    return right_n, draft_n, accepted_n


def _is_right(reply: Reply, fits: Callable[[Any], bool]) -> bool:
    """Whole, JSON, and of the schema."""
    return reply.finished.reason is FinishReason.STOP and fits(json.loads(reply.finished.text))


def test_every_reply_fits_its_schema(duo: Duo) -> None:
    right_n, _, accepted_n = replies(duo, REPLIES)
    assert right_n == REPLIES
    assert accepted_n > REPLIES, "hardly a proposal was accepted, so speculation was not tested"


@pytest.mark.parametrize("schema", [schema for schema, _ in SCHEMAS])
def test_a_reply_is_the_same_where_scores_that_nobody_reads_are_left_out(duo: Duo, schema: dict[str, Any]) -> None:
    """With the draft model and the suffix drafter, greedy; held against a plain reply."""
    grammar = grammar_of_schema(json.dumps(schema))
    unscored_n = 0
    for question in QUESTIONS:
        prompt = duo.prompt(question)
        drafters: list[Drafter] = [GrammarDrafter(), SuffixDrafter(), DraftModel(duo.draft)]
        replies: list[Reply] = []
        for depth in (0, 7):
            sampler = duo.sampler(Sampling(temperature=0.0, grammar=grammar), prompt)
            policy = FixedDepth(depth, Costs({1: 1.0}, scores=0.1))
            request = Request(prompt, sampler, SeededRng(0), policy, max_tokens=60)
            replies.append(Reply(list(generate(duo.target, drafters, request, duo.cancel))))
        plain, drafted = replies
        duo.difference(prompt, plain.ids, drafted.ids)
        unscored_n += sum(round_.unscored_n for round_ in drafted.rounds)
    assert unscored_n > 0 or "pattern" in schema


@pytest.mark.parametrize("depth", [0, 3, 7])
def test_a_reply_ends_with_its_grammar(duo: Duo, depth: int) -> None:
    """Whatever the model would like to add."""
    prompt = duo.prompt("Tell me a story about a fox.")
    settings = Sampling(temperature=0.0, grammar='root ::= "Once" " upon"? " a time."')
    reply = duo.ask(prompt, depth, sampler=duo.sampler(settings, prompt))
    assert reply.finished.text in ("Once upon a time.", "Once a time.")
    assert reply.finished.reason is FinishReason.STOP


@pytest.mark.parametrize("depth", [0, 3, 7])
def test_a_grammar_that_begins_in_the_middle(duo: Duo, depth: int) -> None:
    """What comes before is the reply without it, to the letter; what follows is the grammar's."""
    prompt = duo.prompt("Tell me a story about a fox.")
    free = duo.ask(prompt, 0, max_tokens=80).finished.text
    settings = Sampling(temperature=0.0, grammar='root ::= ". THE END"', grammar_triggers=(r"\.",))
    reply = duo.ask(prompt, depth, sampler=duo.sampler(settings, prompt), max_tokens=80)
    assert reply.finished.text == free[: free.index(".")] + ". THE END"


if __name__ == "__main__":
    pair = Duo.open()
    asked = int(sys.argv[1])
    right, proposed, accepted = replies(pair, asked)
    print(f"{right} of {asked} replies fit their schema; {accepted} of {proposed} proposals accepted")
