"""Heads in a batch: each reply has a sequence of a head, and what all of them read or guess is evaluated together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from localspec.engine.batching import BatchNetwork, ContinuousBatch
from localspec.engine.block_head import Block
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
    """The step, if it was scored."""
    encoded: Rows | None = None
    """A copy of the encoded rows, if there were no tokens."""

    def copy(self) -> HeadAnswer:
        """The same, valid for good."""
        return replace(self, step=self.step and self.step.copy())


class BatchHeadNetwork(Protocol):
    """The members that all heads with several sequences share."""

    @property
    def vocab(self) -> Vocab: ...

    @property
    def threads(self) -> int: ...

    def set_threads(self, n: int) -> None: ...

    def forget(self, sequence: int) -> None:
        """Hold nothing of a sequence."""
        ...


class BatchHead(BatchNetwork[HeadQuestion, HeadAnswer], BatchHeadNetwork, Protocol):
    """A head that is read pair by pair, with several sequences and a single layer.

    Several layers, each with a step of its own, would have to keep what they know of a pair in the same cell. In cells
    that sequences share it has another after it is read again.
    """

    @property
    def width(self) -> int:
        """As ``Head.width``."""
        ...

    @property
    def encodes(self) -> bool:
        """True if the target's rows are encoded before they are paired with tokens."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class BlockQuestion:
    """A call of ``BlockHead.inject`` for one sequence; without rows, of ``BlockHead.guess``."""

    sequence: int
    position: int
    rows: Rows | None = None
    tokens: Sequence[int] = ()
    """The tokens that the rows are of, or the last one of the text."""
    n: int = 0

    def lacking_n(self, head: object, /) -> int:
        """As ``Question.lacking_n``."""
        return 1 + self.n if self.rows is None else len(self.rows)

    def split(self, head: object, n: int, /) -> tuple[BlockQuestion, BlockQuestion]:
        """As ``Question.split``, of rows: a block is guessed in one evaluation."""
        assert self.rows is not None
        rest = replace(self, rows=self.rows[n:], tokens=self.tokens[n:], position=self.position + n)
        return replace(self, rows=self.rows[:n], tokens=self.tokens[:n]), rest


class BatchBlockHead(BatchNetwork[BlockQuestion, Block | None], BatchHeadNetwork, Protocol):
    """A head that guesses several places at once, with several sequences; the answer to a guess is its block."""

    @property
    def block_n(self) -> int:
        """As ``BlockHead.block_n``."""
        ...


class _Sequence:
    """One sequence of a head, as a ``HeadNetwork`` for the reply that runs on it."""

    def __init__(self, head: BatchHeadNetwork, sequence: int, n_ctx: int) -> None:
        self._network = head
        self._sequence = sequence
        self.vocab, self.n_ctx = head.vocab, n_ctx

    @property
    def threads(self) -> int:
        return self._network.threads

    def set_threads(self, n: int) -> None:
        """Evaluate with ``n`` CPU threads from now on, for all sequences."""
        self._network.set_threads(n)

    def forget(self) -> None:
        """Hold nothing."""
        self._network.forget(self._sequence)


class SequenceHead(_Sequence):
    """One sequence of a ``BatchHead``, as a ``Head``."""

    shares_cache = False
    layers_n = 1

    def __init__(self, batch: ContinuousBatch, head: BatchHead, sequence: int, n_ctx: int) -> None:
        """``n_ctx`` is the most tokens of a sequence."""
        super().__init__(head, sequence, n_ctx)
        self._batch = batch
        self._head = head
        self.width = head.width

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


class SequenceBlockHead(_Sequence):
    """One sequence of a ``BatchBlockHead``, as a ``BlockHead``."""

    def __init__(self, batch: ContinuousBatch, head: BatchBlockHead, sequence: int, n_ctx: int) -> None:
        """``n_ctx`` is the most tokens of a sequence."""
        super().__init__(head, sequence, n_ctx)
        self._batch = batch
        self._head = head
        self.block_n = head.block_n

    def inject(self, features: Rows, position: int, tokens: Sequence[int]) -> None:
        self._batch.ask(self._head, BlockQuestion(self._sequence, position, features, tokens))

    def guess(self, token: int, position: int, n: int) -> Block:
        block = self._batch.ask(self._head, BlockQuestion(self._sequence, position, None, (token,), n))
        assert block is not None
        return block
