"""The budget of a template's rendering: so many steps, so much text, and an end in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, ItemsView, Iterator, KeysView, ValuesView
from typing import Any

from jinja2.utils import Namespace

WIDEST = 100_000
"""The largest whole number that a filter or a method may be given, and the most parts of a value written out."""
_STEPS = 1_000_000
_STEPS_PER_MESSAGE = 1_000
_LENGTH = 4_000_000
_LENGTH_PER_CHARACTER = 8
_CHARACTERS_PER_STEP = 256
_LARGEST_BITS = 4096
_LONGEST_S = 20.0
_LOOK_EVERY = 256


class TooMuchWork(Exception):
    """A template is beyond its budget; says in words what it did too much of."""


class Budget:
    """The rest of one rendering's budget. Equal templates and messages end at the same step, but for ``_LONGEST_S``."""

    def __init__(self, messages_n: int, characters_n: int, check: Callable[[], None]) -> None:
        """``check`` is called every few hundred steps, and may raise."""
        self._steps = _STEPS + _STEPS_PER_MESSAGE * messages_n + characters_n
        self._length = _LENGTH + _LENGTH_PER_CHARACTER * characters_n
        self._check = check
        self._look_at = self._steps - _LOOK_EVERY
        self._end = time.monotonic() + _LONGEST_S

    def spend(self, steps: int = 1) -> None:
        """Raises TooMuchWork if so many steps are not left, or the time is over."""
        self._steps -= steps
        if self._steps <= self._look_at:
            self._look_at = self._steps - _LOOK_EVERY
            self._check()
            if self._steps < 0:
                raise TooMuchWork("it takes too many steps")
            if time.monotonic() > self._end:
                raise TooMuchWork(f"it takes more than {_LONGEST_S:.0f} seconds")

    def check_length(self, length: int) -> None:
        """Raises TooMuchWork if a text of so many characters is longer than any may be."""
        if length > self._length:
            raise TooMuchWork(f"it writes more than {self._length:,} characters")

    def spend_text(self, length: int) -> None:
        """Pay for a text of so many characters. Raises TooMuchWork as ``check_length`` and ``spend`` do."""
        self.check_length(length)
        self.spend(length // _CHARACTERS_PER_STEP)

    def spend_whole(self, value: Any) -> None:
        """Pay for a value with everything in it, each part as often as it is reached."""
        if isinstance(value, str):
            self.spend_text(len(value))
        elif _parts(value) is not None:
            self._spend_parts(value)

    def counted(self, values: Any) -> Iterator[Any]:
        """The same values, a step each."""
        for value in values:
            self.spend()
            yield value

    def _spend_parts(self, whole: Any) -> None:
        waiting: list[Any] = [whole]
        parts_n = length = 0
        while waiting:
            value = waiting.pop()
            parts_n += 1
            if isinstance(value, str):
                length += len(value)
            else:
                waiting += _parts(value) or ()
            if parts_n + len(waiting) > WIDEST:
                raise TooMuchWork(f"it makes a value of more than {WIDEST:,} parts")
        self.spend(parts_n)
        self.spend_text(length)


def _parts(value: Any) -> Collection[Any] | None:
    """The parts that a value is written out with; None if it has none."""
    match value:
        case dict():
            return [*value.keys(), *value.values()]
        case list() | tuple() | KeysView() | ValuesView():
            return value
        case ItemsView():
            return [part for pair in value for part in pair]
        case Namespace():
            return [getattr(value, "_Namespace__attrs")]  # noqa: B009 -- a private name, mangled otherwise
        case _:
            return None


def check_number(value: Any) -> None:
    """Raises TooMuchWork for a whole number that no template needs."""
    if isinstance(value, int) and abs(value) > WIDEST:
        raise TooMuchWork(f"it asks for more than {WIDEST:,} of something")


def check_product(operator: str, left: Any, right: Any) -> None:
    """Raises TooMuchWork before whole numbers become too large to count with."""
    if isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length() * max(right, 0) if operator == "**" else left.bit_length() + right.bit_length()
        _check_bits(bits)


def check_whole(number: int) -> None:
    """Raises TooMuchWork for a whole number too large to divide by."""
    _check_bits(number.bit_length())


def _check_bits(bits: int) -> None:
    if bits > _LARGEST_BITS:
        raise TooMuchWork("its numbers grow too large")
