"""A loaded network and its vocabulary, seen from the engine."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float32]
ScoreRows: TypeAlias = Logits | list[Logits]
"""A row of scores for each of some positions, shape (n, n_vocab); in a list a row that was left out has no scores."""

_LATEST_N = 64
"""Tokens at the end of a text that it is likely to differ in from an earlier one."""
_MANY_TOKENS, _GROUP_N = 16_384, 8
"""The size of a vocabulary from which only the best token of each group of the second number is added up."""


class Vocab(Protocol):
    """A vocabulary, as far as the engine needs it."""

    @property
    def n_vocab(self) -> int: ...

    def piece(self, token: int) -> bytes:
        """The bytes a token adds to the text; empty for control tokens."""
        ...

    def is_end(self, token: int) -> bool:
        """True if the token ends a turn."""
        ...


@dataclass(frozen=True, slots=True)
class InfillTokens:
    """The control tokens of a model that fills gaps in a text."""

    prefix: int
    suffix: int
    middle: int
    repository: int | None = None
    """Stands before the name of a project; None in a model that does not know projects."""
    file: int | None = None
    """Stands before the name of each file."""


class Model(Protocol):
    """Scores for the next token. Pure to its caller; the KV cache is the backend's private matter."""

    @property
    def vocab(self) -> Vocab: ...

    @property
    def n_ctx(self) -> int:
        """The most tokens a context may hold."""
        ...

    def held(self, context: Sequence[int]) -> int:
        """The number of leading tokens of ``context`` that need no evaluation any more."""
        ...

    def logits(self, context: Sequence[int], last: int) -> Logits:
        """Scores for the token after each of the final ``last`` positions: shape (last, n_vocab).

        ``last=0`` only evaluates. The context is compared with what the cache holds and only the
        difference is evaluated. The rows are valid until the next call. Raises ``Cancelled``.
        """
        ...


@runtime_checkable
class SelectiveModel(Model, Protocol):
    """A model that can leave out scores that nobody reads. With a large vocabulary they are a good part of its work."""

    def selected_logits(self, context: Sequence[int], last: int, unread: Collection[int]) -> ScoreRows:
        """As ``logits``, without the rows ``unread``, which are numbered from 0; the last is never one of them."""
        ...


@runtime_checkable
class TunableModel(Model, Protocol):
    """A model whose price can be measured, and whose number of threads can be changed."""

    @property
    def threads(self) -> int: ...

    @property
    def replay_n(self) -> int:
        """About how many tokens are read again when some just evaluated are taken back."""
        ...

    @property
    def forgets_freely(self) -> bool:
        """True if the latest tokens can be forgotten at no cost, however often."""
        ...

    @property
    def singly_n(self) -> int:
        """The most tokens that it reads one by one instead of in a batch."""
        ...

    def set_threads(self, n: int) -> None:
        """Evaluate with ``n`` CPU threads from now on."""
        ...


@runtime_checkable
class ShortTextModel(TunableModel, Protocol):
    """A model that can evaluate short texts in a context of their own, which is faster on some machines."""

    @property
    def has_short_context(self) -> bool: ...

    def use_short_context(self, on: bool) -> None:
        """Evaluate short texts there from now on, or as long ones are."""
        ...

    def keep_one_context(self) -> None:
        """Free the context for short texts, if there is one."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Likeliest:
    """The tokens with the highest scores; of the others nothing is known but that they score no higher."""

    ids: NDArray[np.int64]
    """Strictly ascending."""
    scores: Logits
    """Theirs; same shape as ids."""


@runtime_checkable
class Ranking(Protocol):
    """A model that may leave its scores where they were computed, and hand over the highest alone."""

    def likeliest(self, context: Sequence[int]) -> Likeliest | None:
        """For the token after ``context``; None from a model that always hands over all (see ``Model.logits``).

        Raises ``Cancelled``.
        """
        ...


def with_gaps(scored: Logits, last: int, unread: Collection[int]) -> ScoreRows:
    """``last`` rows: those ``scored``, in order, with empty ones in place of the ``unread``."""
    if not unread:
        return scored
    rows, gap = iter(scored), scored[0, :0]
    return [gap if place in unread else next(rows) for place in range(last)]


def softmax_sum(row: Logits, best: float) -> float:
    """The sum of exp(score - best) over a row, of which ``best`` is the highest score.

    Of a large vocabulary it is nearly that, and never more: adding up all takes twice as long, and changes the best
    one's share by less than a hundredth where that is large, by a few where it is small.
    """
    if len(row) >= _MANY_TOKENS:
        width = len(row) // _GROUP_N
        grouped = row[: width * _GROUP_N].reshape(_GROUP_N, width)
        row = np.concatenate((grouped.max(axis=0), row[width * _GROUP_N :]))
    return float(np.exp(row - best).sum(dtype=np.float64))


def common_prefix(a: list[int], b: Sequence[int]) -> int:
    """The number of equal leading elements. Compares slices, which is a hundred times a loop's speed."""
    b = b if isinstance(b, list) else list(b)
    end = min(len(a), len(b))
    # Lists are long, and slices are copies: mostly the one goes on where the other ends.
    if (a if len(a) == end else a[:end]) == (b if len(b) == end else b[:end]):
        return end
    # Otherwise they mostly differ in their latest tokens.
    low = max(0, end - _LATEST_N)
    low, high = (low, end - 1) if a[:low] == b[:low] else (0, low - 1)
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
