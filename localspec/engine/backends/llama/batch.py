"""A batch of tokens, or of tokens and rows, as llama.cpp takes it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SEQUENCE = 0
_POSITIONS_N = 4


class Batch:
    """One llama_batch, used again for every evaluation."""

    def __init__(self, c: Any, capacity: int) -> None:
        self.capacity = capacity
        self.native = c.llama_batch_init(capacity, 0, 1)
        self.used = 0
        """The number of tokens that mean something."""
        self._c = c
        shape = (capacity,)
        self._tokens = np.ctypeslib.as_array(self.native.token, shape)
        self._positions = np.ctypeslib.as_array(self.native.pos, shape)
        self._wanted = np.ctypeslib.as_array(self.native.logits, shape)
        np.ctypeslib.as_array(self.native.n_seq_id, shape)[:] = 1
        for i in range(capacity):
            self.native.seq_id[i][0] = _SEQUENCE

    def fill(self, tokens: Sequence[int], at: int, last: int, n_vocab: int, padding_n: int = 0) -> None:
        """Put in ``tokens`` from position ``at`` on, with scores wanted for the ``last`` of them; and so many of no
        meaning behind them.
        """
        n = self.used = len(tokens)
        all_n = self.native.n_tokens = n + padding_n
        self._tokens[:n] = tokens
        self._tokens[n:all_n] = 0
        if max(tokens) >= n_vocab:
            # A draft may lack the padding at the end of the target's vocabulary; any token will do there.
            np.copyto(self._tokens[:n], 0, where=self._tokens[:n] >= n_vocab)
        self._positions[:all_n] = np.arange(at, at + all_n)
        self._wanted[:all_n] = 0
        self._wanted[n - last : n] = 1

    def free(self) -> None:
        self._c.llama_batch_free(self.native)


class SequenceBatch(Batch):
    """One llama_batch of tokens of several sequences."""

    def clear(self) -> None:
        """Hold no tokens."""
        self.used = self.native.n_tokens = 0

    def add(self, tokens: Sequence[int], at: int, sequence: int, last: int, n_vocab: int) -> int:
        """Add tokens of a sequence from position ``at`` on, with scores wanted for the ``last`` of them.

        Returns the place of the first of those.
        """
        begin = self.used
        end = begin + len(tokens)
        if end > self.capacity:
            raise ValueError(f"{end} tokens in a batch of {self.capacity}")
        self._tokens[begin:end] = tokens
        np.copyto(self._tokens[begin:end], 0, where=self._tokens[begin:end] >= n_vocab)  # as in ``Batch``
        self._positions[begin:end] = np.arange(at, at + len(tokens))
        self._wanted[begin : end - last] = 0
        self._wanted[end - last : end] = 1
        for i in range(begin, end):
            self.native.seq_id[i][0] = sequence
        self.used = self.native.n_tokens = end
        return end - last


class PairBatch:
    """One llama_batch of rows, with or without a token beside each, used again for every evaluation."""

    def __init__(self, c: Any, capacity: int, width: int) -> None:
        self.capacity = capacity
        self._tokens = np.zeros(capacity, np.int32)
        self._rows = np.zeros((capacity, width), np.float32)
        self._positions = np.zeros(_POSITIONS_N * capacity, np.int32)
        self._wanted = np.zeros(capacity, np.int8)
        self._sequences_n = np.ones(capacity, np.int32)
        self._sequences = np.zeros(capacity, np.int32)
        addresses = self._sequences.ctypes.data + np.arange(capacity, dtype=np.uintp) * self._sequences.itemsize
        self._addresses = addresses  # read by llama.cpp
        self._first_token = self._tokens.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
        self.native = c.llama_batch()
        self.native.embd = self._rows.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        self.native.pos = self._positions.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
        self.native.n_seq_id = self._sequences_n.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
        self.native.seq_id = addresses.ctypes.data_as(ctypes.POINTER(ctypes.POINTER(ctypes.c_int32)))
        self.native.logits = self._wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_int8))

    @property
    def used(self) -> int:
        """The number of rows."""
        return int(self.native.n_tokens)

    def clear(self) -> None:
        """Hold no rows."""
        self.native.n_tokens = 0

    def add(
        self,
        tokens: Sequence[int] | None,
        rows: NDArray[np.float32],
        at: int,
        sequence: int = _SEQUENCE,
        *,
        scored: bool,
    ) -> int:
        """Add ``rows`` of a sequence, shape (n, width), from position ``at`` on, with scores wanted of all or of none.

        Either all rows of a batch have tokens, or none has. Returns the place of the last.
        """
        begin = self.used
        end = begin + len(rows)
        if end > self.capacity:
            raise ValueError(f"{end} rows in a batch of {self.capacity}")
        self._rows[begin:end] = rows
        self._wanted[begin:end] = scored
        self._sequences[begin:end] = sequence
        self._positions[begin:end] = range(at, at + len(rows))
        if tokens is not None:
            self._tokens[begin:end] = tokens
            self.native.token = self._first_token
        else:
            self.native.token = None
            # An architecture with multimodal positions reads four a row; for text three are the same.
            self._positions[end : 3 * end] = np.tile(self._positions[:end], 2)
            self._positions[3 * end : _POSITIONS_N * end] = 0
        self.native.n_tokens = end
        return end - 1
