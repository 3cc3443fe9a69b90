"""The size of a grammar once llama.cpp has unfolded it, counted beforehand: llama.cpp itself has no limits there.

llama.cpp writes repetitions out, searches for left recursion without remembering what it has seen, and then lists every
way to reach a first character, each as a stack of positions. All three can take exponential time or memory in a grammar
of a few lines, and none can be cancelled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MOST_ELEMENTS = 2_000_000
"""Characters, references and alternatives with all repetitions written out; positions on all stacks as well."""
_MOST_WAYS = 50_000
_LONGEST_CHAIN = 2_000
"""Repetitions with a larger maximum have none in llama.cpp."""
_RULE_COST = 4
"""Elements that a rule made for one optional repetition costs beside what is repeated."""
_TERMINAL, _OR, _END = -1, -2, -3

_Rules = list[list[int]]
"""Rules by number, each a row of elements as in llama.cpp: the number of a rule, or one of the three above."""

_TOKEN = re.compile(
    r"""
      (?P<space> \s+ | \#[^\n]* )
    | (?P<rule> [a-zA-Z0-9-]+ (?= [ \t]* ::= ) ) [ \t]* ::=
    | (?P<name> [a-zA-Z0-9-]+ )
    | (?P<text> "(?:\\.|[^"\\])*" | \[(?:\\.|[^\]\\])*\] | !?<[^>]*> | \. )
    | (?P<repeat> [*+?] | \{ \s* \d+ \s* (?: , \s* \d* \s* )? \} )
    | (?P<open> \( ) | (?P<close> \) ) | (?P<or> \| )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


class _TooLarge(Exception):
    """One of the limits is passed; the text says which."""


def too_large(text: str) -> str | None:
    """The limit that a grammar passes, as a clause about it. None as well if llama.cpp would refuse the grammar."""
    try:
        unfolded = _Unfolding.of(text)
        if unfolded is not None and not _is_left_recursive(unfolded.rules):
            _count_stacks(unfolded.rules, unfolded.numbers["root"])
    except _TooLarge as error:
        return str(error)
    return None


class _Unfolding:
    """The rules of a grammar, with repetitions and groups as rules of their own."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.rules: _Rules = []
        self._open: list[tuple[int, list[int]]] = []
        """The rule being read and the groups it is in, innermost last."""
        self._last = 0
        """The begin of the innermost group's last item: a repetition repeats from there on."""
        self._length = 0
        """Elements of that item in llama.cpp. A text is one of ours and as many as its characters there."""
        self._size = 0

    @staticmethod
    def of(text: str) -> _Unfolding | None:
        """None if llama.cpp cannot read it. Raises _TooLarge."""
        made, place = _Unfolding(), 0
        while place < len(text):
            token = _TOKEN.match(text, place)
            if token is None or not made._take(token.lastgroup or "", token.group().strip()):
                return None
            place = token.end()
        made._end_rule()
        return made if "root" in made.numbers and all(made.rules) else None

    def _take(self, kind: str, token: str) -> bool:
        """True if the token can stand here."""
        if kind == "rule":
            self._end_rule()
            self._begin(self._number(token.partition(":")[0].strip()))
        elif kind != "space" and not self._open:
            return False
        match kind:
            case "name":
                self._add([self._number(token)], 1)
            case "text":  # one of two characters is empty
                self._add([_TERMINAL] * (len(token) != 2), len(token))
            case "open":
                self._begin(self._new())
            case "close":
                if len(self._open) < 2:
                    return False
                self._add([self._end()], 1)
            case "or":
                self._add([_OR], 1)
                self._last = len(self._open[-1][1])
            case "repeat":
                return self._repeat(*_bounds(token))
        return True

    def _begin(self, rule: int) -> None:
        self._open.append((rule, []))
        self._last = 0

    def _end(self) -> int:
        rule, elements = self._open.pop()
        self.rules[rule] = [*elements, _END]
        return rule

    def _end_rule(self) -> None:
        while self._open:
            self._end()

    def _new(self) -> int:
        self.rules.append([])
        return len(self.rules) - 1

    def _number(self, name: str) -> int:
        if name not in self.numbers:
            self.numbers[name] = self._new()
        return self.numbers[name]

    def _add(self, elements: list[int], length: int) -> None:
        row = self._open[-1][1]
        self._last, self._length = len(row), length
        self._grow(length)
        row += elements

    def _grow(self, length: int) -> None:
        self._size += length
        if self._size > _MOST_ELEMENTS:
            raise _TooLarge(f"it has more than {_MOST_ELEMENTS:,} elements once its repetitions are written out")

    def _repeat(self, least: int, most: int | None) -> bool:
        """Repeat the last item: ``least`` copies, and a chain of rules for those that may be left out."""
        row = self._open[-1][1]
        item = row[self._last :]
        if not item:
            return False
        links = 1 if most is None else most - least
        self._grow(self._length * least + (self._length + _RULE_COST) * links)
        row[self._last :] = item * least
        before: list[int] = []
        for _ in range(links):
            link = self._new()
            self.rules[link] = [*item, *([link] if most is None else before), _OR, _END]
            before = [link]
        row += before
        self._length = self._length * least + 1
        return True


def _bounds(repeat: str) -> tuple[int, int | None]:
    """Fewest and most repetitions; None for no limit."""
    if repeat in "*+?":
        return int(repeat == "+"), 1 if repeat == "?" else None
    least, comma, most = repeat.strip("{}").partition(",")
    if not comma:
        return int(least), int(least)
    return int(least), int(most) if most.strip() and int(most) <= _LONGEST_CHAIN else None


def _is_left_recursive(rules: _Rules) -> bool:
    """Search as llama.cpp does, each way to a rule anew. Raises _TooLarge."""
    leading = [list(_leading(rule, rules)) for rule in rules]
    seen: set[int] = set()
    ways = 0
    for start in range(len(rules)):
        if start in seen:
            continue
        path, left = [start], [iter(leading[start])]
        within = {start}
        while path:
            rule = next(left[-1], None)
            if rule is None:
                left.pop()
                within.discard(path[-1])
                seen.add(path.pop())
                continue
            if rule in within:
                return True
            ways = _one_more(ways)
            path.append(rule)
            left.append(iter(leading[rule]))
            within.add(rule)
    return False


def _leading(elements: list[int], rules: _Rules) -> Iterator[int]:
    """The rules that alternatives begin with. llama.cpp looks past one only if it has an empty alternative itself."""
    begins = True
    for element in elements:
        if begins and element >= 0:
            yield element
            begins = _may_be_empty(rules[element])
        else:
            begins = element == _OR


def _may_be_empty(elements: list[int]) -> bool:
    return any(elements[start] <= _OR for start in _alternatives(elements))


def _alternatives(elements: list[int]) -> list[int]:
    """The begin of each alternative."""
    return [0, *(n + 1 for n, element in enumerate(elements) if element == _OR)]


def _count_stacks(rules: _Rules, root: int) -> None:
    """List the stacks of positions that a reply may begin with, as llama.cpp does. Raises _TooLarge."""
    alternatives = [_alternatives(elements) for elements in rules]
    tops: dict[tuple[int, int, int], int] = {}
    """Numbers of stacks, by the rule and the place in it on top and the number of the stack below; 0 is empty."""
    stacks = [(0, 0, 0)]
    depths = [0]

    def push(below: int, rule: int, place: int) -> int:
        if rules[rule][place] <= _OR:
            return below
        top = (rule, place, below)
        if top not in tops:
            tops[top] = len(stacks)
            stacks.append(top)
            depths.append(depths[below] + 1)
        return tops[top]

    waiting = [push(0, root, place) for place in alternatives[root]]
    seen: set[int] = set()
    ways = positions = 0
    while waiting:
        stack = waiting.pop()
        if stack in seen:
            continue
        seen.add(stack)
        ways = _one_more(ways)
        positions += depths[stack]
        if positions > _MOST_ELEMENTS:
            raise _TooLarge(f"the ways to its first character take more than {_MOST_ELEMENTS:,} steps")
        rule, place, below = stacks[stack]
        if stack and (element := rules[rule][place]) >= 0:
            after = push(below, rule, place + 1)
            waiting += [push(after, element, start) for start in alternatives[element]]


def _one_more(ways: int) -> int:
    if ways >= _MOST_WAYS:
        raise _TooLarge(f"there are more than {_MOST_WAYS:,} ways through its rules to a first character")
    return ways + 1
