"""Limits that llguidance lacks: the depth of references in a grammar, and the size of ``multipleOf``.

llguidance recurses at each level, and a full stack ends the process. It limits nested brackets, but not chains of
references, which take it as deep as they are long. The depth computed here is an upper bound.

For ``multipleOf`` llguidance makes a state for each remainder, and nothing interrupts it meanwhile.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from math import isfinite, lcm
from typing import Any
from urllib.parse import unquote

DEEPEST = 1_200
"""The steps that are allowed: a stack of 8 MB, the usual one, was seen to last for 2,000 at least."""
_MOST_REMAINDERS = 100_000
"""They take half a second, and a million five."""
_JOINING = frozenset(("allOf", "anyOf", "oneOf", "$ref"))
"""The keywords by which a number may have to be the multiple of several."""
_TOKEN = re.compile(
    r"""
      (?:\#|//)[^\n]* | "(?:\\.|[^"\\\n])*" | /(?:\\.|[^/\\])+/ | <[^<>\s]+>  # comments, texts, expressions, tokens
    | (?P<json>%(?:json|regex|llguidance))\s*
    | (?P<step>[:~(\[{])  # what begins a rule, or a bracket
    """,
    re.VERBOSE | re.DOTALL,
)
_decode = json.JSONDecoder().raw_decode


def excess(grammar: str) -> str | None:
    """The reason why a grammar in one of llguidance's forms is too large; None if it is not, or cannot be read."""
    try:
        steps_n, schemas = _json(json.loads(grammar)) if grammar.startswith("{") else _lark(grammar)
        if steps_n + sum(map(depth_of_schema, schemas)) > DEEPEST:
            return "it is nested too deeply, or its references are"
        if sum(map(_remainders_n, schemas)) > _MOST_REMAINDERS:
            return "the numbers of 'multipleOf' are too large, or too many"
    except (ValueError, RecursionError):
        pass
    return None


def _json(value: Any) -> tuple[int, list[Any]]:
    """The steps of a grammar in JSON, and the schemas in it."""
    match value:
        case {"grammars": list(grammars)}:
            parts = [_json(each) for each in grammars]
            return sum(steps_n for steps_n, _ in parts), [schema for _, schemas in parts for schema in schemas]
        case {"lark_grammar": str(text)}:
            return _lark(text)
        case {"json_schema": schema}:
            return 0, [schema]
    return 0, [value]


def _lark(text: str) -> tuple[int, list[Any]]:
    """The steps of a grammar in Lark's form, and the schemas in it."""
    steps_n, schemas, at = 0, [], 0
    while token := _TOKEN.search(text, at):
        at = token.end()
        if token["json"]:
            schema, at = _decode(text, at)
            schemas.append(schema)
        elif token["step"]:
            steps_n += 1
    return steps_n, schemas


def _remainders_n(schema: Any) -> int:
    """An upper bound of the states that ``multipleOf`` takes; factors of ten take none."""
    values = (part.get("multipleOf") for part in _objects(schema))
    found = {_digits(value) for value in values if type(value) is int or (type(value) is float and isfinite(value))}
    if (together := sum(found)) > _MOST_REMAINDERS or not any(_JOINING & part.keys() for part in _objects(schema)):
        return together
    return max(together, lcm(*found))


def _digits(value: float) -> int:
    """The digits of a number without zeros at its ends, as a whole number; 1 for 0."""
    return int("".join(map(str, Decimal(str(value)).as_tuple().digits)).rstrip("0") or 1)


def depth_of_schema(schema: Any) -> int:
    """The most objects on a path through a JSON Schema and its references, without passing one twice.

    Where references form circles, all objects in these count.
    """
    references = {ref for part in _objects(schema) if isinstance(ref := part.get("$ref"), str)}
    targets = {id(target): target for target in (schema, *(_target(ref, schema) for ref in references))}
    own, leads_to = {}, {}
    for place, target in targets.items():
        own[place], leads_to[place] = _walk(target, targets, schema)
    comes_from: dict[int, list[int]] = {place: [] for place in targets}
    for place, nexts in leads_to.items():
        for to in nexts:
            comes_from[to].append(place)
    below, open_n = dict.fromkeys(targets, 0), {place: len(nexts) for place, nexts in leads_to.items()}
    done = [place for place, n in open_n.items() if not n]
    for place in done:  # grows
        for before in comes_from[place]:
            below[before] = max(below[before], below[place] + own[place])
            open_n[before] -= 1
            if not open_n[before]:
                done.append(before)
    circles = targets.keys() - set(done)
    around = sum(own[place] for place in circles) + max((below[place] for place in circles), default=0)
    return max([around, *(below[place] + own[place] for place in done)])


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in a value of JSON."""
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            yield part
            left += part.values()
        elif isinstance(part, list):
            left += part


def _target(ref: str, schema: Any) -> Any:
    """The part that a reference points to; the whole schema, which is no smaller, if it points to none."""
    found = schema
    for name in unquote(ref.removeprefix("#")).split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        match found:
            case dict():
                found = found.get(name)
            case list() if name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            case _:
                return schema
    return found if isinstance(found, dict) and ref.startswith("#") else schema


def _walk(target: Any, targets: dict[int, Any], schema: Any) -> tuple[int, set[int]]:
    """The depth of a target's nested objects, other targets left out, and the targets that these lead to."""
    deepest, leads_to, left = 0, set(), [(target, 0)]
    while left:
        part, level = left.pop()
        if isinstance(part, dict):
            if level and id(part) in targets:
                leads_to.add(id(part))
                continue
            deepest = max(deepest, level + 1)
            if isinstance(ref := part.get("$ref"), str):
                leads_to.add(id(_target(ref, schema)))
            left += [(value, level + 1) for value in part.values() if isinstance(value, dict | list)]
        elif isinstance(part, list):
            left += [(value, level) for value in part if isinstance(value, dict | list)]
    return deepest, leads_to
