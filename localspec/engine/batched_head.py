"""A head beside others in a batch: each reply has a sequence of it, and what all of them read is read together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from localspec.engine.batching import BatchNetwork, ContinuousBatch
from localspec.engine.head import HeadStep
from localspec.engine.hidden import Rows
from localspec.engine.model import Vocab


@dataclass(frozen=True, slots=True, eq=False)
class HeadQuestion:
    """A call of ``Head.read`` for one sequence; without tokens, of ``Head.encode``."""

    sequence: int
    tokens: Sequence[int]
    rows: Rows
    position: int = 0
    scored: bool = False

    def lacking_n(self, head: object, /) -> int:
        """As ``Question.lacking_n``."""
        return len(self.tokens)

    def split(self, head: object, n: int, /) -> tuple[HeadQuestion, HeadQuestion]:
        """As ``Question.split``."""
        first = replace(self, tokens=self.tokens[:n], rows=self.rows[:n], scored=False)
        return first, replace(self, tokens=self.tokens[n:], rows=self.rows[n:], position=self.position + n)


@dataclass(frozen=True, slots=True, eq=False)
class HeadAnswer:
    """The answer to a ``HeadQuestion``."""

    step: HeadStep | None = None
    """If it was scored."""
    encoded: Rows | None = None
    """If it had no tokens; a copy."""

    def copy(self) -> HeadAnswer:
        """The same, valid for good."""
        return replace(self, step=self.step and self.step.copy())


class BatchHead(BatchNetwork[HeadQuestion, HeadAnswer], Protocol):
    """A head that is read pair by pair, with several sequences and a single layer.

    Several layers, each with a step of its own, would have to keep what they know of a pair in the same cell. In cells
    that sequences share it has another after it is read again.
    """

    @property
    def vocab(self) -> Vocab: ...

    @property
    def width(self) -> int:
        """As ``Head.width``."""
        ...

    @property
    def encodes(self) -> bool:
        """True if the target's rows are encoded before they are paired with tokens."""
        ...

    @property
    def threads(self) -> int: ...

    def set_threads(self, n: int) -> None: ...

    def forget(self, sequence: int) -> None:
        """Hold nothing of a sequence."""
        ...


class SequenceHead:
    """One sequence of a ``BatchHead``, as a ``Head`` for the reply that runs on it."""

    shares_cache = False
    layers_n = 1

    def __init__(self, batch: ContinuousBatch, head: BatchHead, sequence: int, n_ctx: int) -> None:
        """``n_ctx`` is the most tokens of a sequence."""
        self._batch = batch
        self._head = head
        self._sequence = sequence
        self.n_ctx = n_ctx
        self.width = head.width

    @property
    def vocab(self) -> Vocab:
        return self._head.vocab

    @property
    def threads(self) -> int:
        return self._head.threads

    def set_threads(self, n: int) -> None:
        """Evaluate with ``n`` CPU threads from now on, for all sequences."""
        self._head.set_threads(n)

    def encode(self, features: Rows) -> Rows:
        if not self._head.encodes:
            return features
        encoded = self._batch.ask(self._head, HeadQuestion(self._sequence, (), features)).encoded
        assert encoded is not None
        return encoded

    def read(
        self, tokens: Sequence[int], rows: Rows, position: int, *, scored: bool, layer: int = 0
    ) -> HeadStep | None:
        return self._batch.ask(self._head, HeadQuestion(self._sequence, tokens, rows, position, scored)).step

    def forget(self) -> None:
        self._head.forget(self._sequence)
