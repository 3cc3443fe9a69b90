"""Ids of conversations and messages: random, and abbreviated for people."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from itertools import takewhile

Ids = Callable[[], str]
"""Makes a new id."""
_LEAST = 4


def new_id() -> str:
    """A random id of 64 bits, in hexadecimal digits."""
    return secrets.token_hex(8)


def abbreviated(ids: Iterable[str]) -> list[str]:
    """The shortest prefixes that distinguish ids, each of at least four characters.

    >>> abbreviated(["abcdef", "abcxyz", "123456"])
    ['abcd', 'abcx', '1234']
    """
    given = list(ids)
    order = sorted(set(given))
    short = {}
    for index, each in enumerate(order):
        neighbours = order[max(0, index - 1) : index] + order[index + 1 : index + 2]
        shared = max((_shared(each, other) for other in neighbours), default=0)
        short[each] = each[: max(_LEAST, shared + 1)]
    return [short[each] for each in given]


def _shared(one: str, other: str) -> int:
    """The number of characters at the beginning that both have."""
    return sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(one, other, strict=False)))
