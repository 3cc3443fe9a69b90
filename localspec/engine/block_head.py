"""A block head: a small network that guesses the tokens of several places in one pass, as DFlash does.

DFlash (arXiv 2602.06036) writes the target's hidden rows into its cache, one a position. To guess it evaluates the
last token of the text, which has no row yet, and a mask for each further place; the scores of a place depend on the
text, not on what was guessed before it. DSpark (arXiv 2607.05147) adds what the likeliest guess before makes likelier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from localspec.engine.head import HeadBackedModel, HeadInputs, HeadNetwork, beginning_of
from localspec.engine.hidden import Rows
from localspec.engine.model import Likeliest, Logits, common_prefix


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A block head's guesses."""

    scores: Any
    """For the tokens of the block's places: float32, shape (n, n_vocab); valid until the head evaluates again. None if
    the head ranks.
    """
    confidence: NDArray[np.float32] | None = None
    """The head's own word for how likely each place is accepted, if it has been trained to tell; shape (n,)."""
    likeliest: Sequence[Likeliest] | None = None
    """The tokens with the highest scores by place, if the head ranks."""

    def copy(self) -> Block:
        """The same, valid for good."""
        return Block(self.scores.copy(), self.confidence)


class BlockHead(HeadNetwork, Protocol):
    """A head that guesses several places at once."""

    @property
    def block_n(self) -> int:
        """The most places that it was trained to guess at once."""
        ...

    def inject(self, features: Rows, position: int, tokens: Sequence[int]) -> None:
        """Hold rows of the target for ``position`` and after it, in place of what was held there and behind.

        ``tokens`` are those at these positions. Raises ``Cancelled``.
        """
        ...

    def guess(self, token: int, position: int, n: int) -> Block:
        """Guesses for ``n`` places after ``token`` at ``position``, by the rows held before it and none behind.

        Raises ``Cancelled``.
        """
        ...


class BlockModel(HeadBackedModel[BlockHead]):
    """A block head behind the interface of a model: ``block`` for guesses, ``logits`` for one."""

    def __init__(self, inputs: HeadInputs[BlockHead]) -> None:
        super().__init__(inputs)
        self.block_n = inputs.head.block_n
        """The most places that one block has."""
        self._injected: list[int] = []
        """The text up to the last position with a row."""
        self._first = 0
        """The first position with a row."""

    def held(self, context: Sequence[int]) -> int:
        """As ``Model.held``; where it would begin anew, all that it would leave out counts, which costs nothing."""
        known_n = self._known_n(context)
        found = self._hidden.rows(context, known_n)
        anew = len(found.rows) and found.start > known_n
        return beginning_of(found).start if anew else known_n

    def _known_n(self, context: Sequence[int]) -> int:
        """The number of leading tokens of ``context`` whose rows it holds."""
        known_n = common_prefix(self._injected, context)
        return known_n if known_n > self._first else 0

    def can_guess(self, context: Sequence[int]) -> bool:
        """True if there are rows for the positions up to the last of ``context``, so that guesses have a ground."""
        text = context[:-1]
        known_n = self._known_n(text)
        if known_n == len(text):
            return bool(text)
        found = self._hidden.rows(text, known_n)
        return len(found.rows) > 0 and found.end == len(text)

    def likeliest(self, context: Sequence[int]) -> Likeliest | None:
        """As ``Ranking.likeliest``."""
        if not self._ranking or not self._ranking.rank(on=True):
            return None
        few = self.block(context, 1, ranked=True).likeliest
        return None if few is None else few[0]

    def block(self, context: Sequence[int], n: int, *, ranked: bool = False) -> Block:
        """Guesses for the ``n`` places after ``context``; ``ranked`` if the likeliest do. Raises ``Cancelled``."""
        if self._ranking:
            self._ranking.rank(on=ranked)
        text = list(context[:-1])
        self._follow(text)
        if len(self._injected) < len(text):
            # A cache has no gaps, so what is held does not help; such guesses are as good as none.
            self._forget()
        return self._head.guess(context[-1], len(text), n)

    def _scores(self, tokens: list[int], last: int) -> Logits | None:
        if last:
            row: Logits = self.block(tokens, 1).scores
            return row
        self._follow(tokens)
        return None

    def _follow(self, text: list[int]) -> None:
        """Hold the target's rows for ``text`` as far as there are any, and none behind."""
        known_n = self._known_n(text)
        found = self._hidden.rows(text, known_n)
        if known_n < len(text) and len(found.rows):
            if found.start > known_n or not known_n:
                self._forget()
                found = beginning_of(found)
                self._first = found.start
            self._injected = text[: found.start]  # should reading be cancelled
            self._head.inject(found.rows, found.start, text[found.start : found.end])
            known_n = found.end
        self._injected = text[:known_n]

    def _forget(self) -> None:
        self._head.forget()
        self._injected, self._first = [], 0
