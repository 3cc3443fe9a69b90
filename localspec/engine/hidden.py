"""Hidden states of a model by position, for drafters that read them: EAGLE-3, MTP and DFlash heads.

A model that can keep them is asked beforehand for certain layers, and copies those after each evaluation; a model that
nobody asked copies nothing. Like ``Model.logits`` the rows are pure to their reader: a row belongs to its position as
long as every token up to it is the one that was evaluated, so a rejected proposal leaves no row behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from localspec.engine.model import Model

Rows = NDArray[Any]
"""Hidden states, a row a position: float32, shape (n, width)."""

FINAL = -1
"""Stands in place of a layer's number for the final states, which MTP layers read.

They come before the output norm or behind it, by architecture.
"""

KEPT_N = 512
"""Rows that stay at least, of the latest positions; a reader has to come before so many more are evaluated."""


@dataclass(frozen=True, slots=True, eq=False)
class HiddenRows:
    """Rows of consecutive positions."""

    start: int
    """The position of the first row."""
    rows: Rows
    """Valid until the model's next evaluation; there may be none."""

    @property
    def end(self) -> int:
        """The position after the last row."""
        return self.start + len(self.rows)


class HiddenStates(Protocol):
    """Hidden states of certain layers of a model."""

    @property
    def width(self) -> int:
        """Numbers in a row: the layers' states side by side, in the order in which they were asked for."""
        ...

    def rows(self, context: Sequence[int], start: int = 0) -> HiddenRows:
        """The rows of ``context`` that are there, from position ``start`` on.

        They begin at ``start`` or, if rows from there on are gone, later; they end with the last position that was
        evaluated behind the very tokens of ``context``. No row if that leaves none.
        """
        ...


@runtime_checkable
class HiddenModel(Model, Protocol):
    """A model whose hidden states can be read."""

    def keep_hidden(self, layers: Sequence[int]) -> HiddenStates:
        """Keep the inputs of these ``layers``, numbered from 0, or ``FINAL``, of all that is evaluated from now on.

        Raises DrafterUnavailableError if the model cannot give them.
        """
        ...


class RowWindow:
    """The latest rows of a model, without a gap: at least ``KEPT_N`` of them, if there are so many."""

    def __init__(self, width: int, batch_n: int) -> None:
        """``batch_n`` is the most rows that one evaluation gives."""
        self.width = width
        self._room = np.empty((KEPT_N + max(KEPT_N, batch_n), width), np.float32)
        self._start = 0
        self._n = 0

    @property
    def end(self) -> int:
        """The position after the last row."""
        return self._start + self._n

    def clear(self) -> None:
        """Hold nothing."""
        self._n = 0

    def put(self, position: int, n: int) -> Rows:
        """Room to write the rows of ``n`` positions from ``position`` on into; what was held from there on is gone."""
        if not self._start <= position <= self.end:
            self._start, self._n = position, 0
        self._n = position - self._start
        if self._n + n > len(self._room):
            gone_n = max(self._n - KEPT_N, self._n + n - len(self._room))
            self._room[: self._n - gone_n] = self._room[gone_n : self._n]
            self._start, self._n = self._start + gone_n, self._n - gone_n
        self._n += n
        return self._room[self._n - n : self._n]

    def rows(self, start: int, end: int) -> HiddenRows:
        """The rows held from position ``start`` on, and before ``end``."""
        first = max(start, self._start)
        last = max(first, min(end, self.end))
        return HiddenRows(first, self._room[first - self._start : last - self._start])
