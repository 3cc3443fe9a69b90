"""How deep llguidance may have to go into a grammar: it calls itself at each step, and a full stack ends the process.

Brackets within each other have a limit there. References have none: a chain of them takes it as deep as it is long. So
this is a bound, whatever it reads first: a grammar that is called too deep may be less so, and none is deeper.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote

DEEPEST = 1_200
"""The steps that are allowed: a stack of 8 MB, the usual one, was seen to last for 2,000 at least."""
_TOKEN = re.compile(
    r"""
      (?:\#|//)[^\n]* | "(?:\\.|[^"\\\n])*" | /(?:\\.|[^/\\])+/   # comments, strings, regular expressions
    | (?P<json>%(?:json|regex|llguidance))\s*
    | (?P<step>[:~(\[{])                                         # what begins a rule, or a bracket
    """,
    re.VERBOSE | re.DOTALL,
)
_decode = json.JSONDecoder().raw_decode


def depth(grammar: str) -> int:
    """A bound for a grammar in one of llguidance's forms. 0 for what it cannot read anyway."""
    try:
        return _depth_of_json(json.loads(grammar)) if grammar.startswith("{") else _depth_of_lark(grammar)
    except (ValueError, RecursionError):
        return 0


def _depth_of_json(value: Any) -> int:
    match value:
        case {"grammars": list(grammars)}:
            return sum(_depth_of_one(each) for each in grammars)
    return depth_of_schema(value)


def _depth_of_one(grammar: Any) -> int:
    match grammar:
        case {"lark_grammar": str(text)}:
            return _depth_of_lark(text)
        case {"json_schema": schema}:
            return depth_of_schema(schema)
    return depth_of_schema(grammar)


def _depth_of_lark(text: str) -> int:
    found, at = 0, 0
    while token := _TOKEN.search(text, at):
        at = token.end()
        if token["json"]:
            value, at = _decode(text, at)
            found += depth_of_schema(value)
        elif token["step"]:
            found += 1
    return found


def depth_of_schema(schema: Any) -> int:
    """The objects on the longest way through a JSON Schema and what its references lead to, none of them passed twice.

    Of what leads round in a circle everything counts.
    """
    targets = {id(target): target for target in (schema, *(_target(ref, schema) for ref in _references(schema)))}
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


def _references(schema: Any) -> set[str]:
    found, left = set(), [schema]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if isinstance(ref := part.get("$ref"), str):
                found.add(ref)
            left += part.values()
        elif isinstance(part, list):
            left += part
    return found


def _target(ref: str, schema: Any) -> Any:
    """What a reference leads to. The whole schema for one that is no pointer to a part: that is never too little."""
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
    """The objects within each other in a target, down to other targets, and the targets that it leads to."""
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
