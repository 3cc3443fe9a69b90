"""A batch of tokens, of rows, or of rows with a token beside each, as llama.cpp takes it."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SEQUENCE = 0
_POSITIONS_N = 4


class Batch:
    """One llama_batch, used again for every evaluation."""

    def __init__(self, c: Any, capacity: int, width: int = 0) -> None:
        """``width`` is that of a row; 0 for tokens alone."""
        self.capacity = capacity
        self.used = 0
        """The number of tokens, or of rows."""
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
        self.native.token = self._first_token
        if width:
            self.native.embd = self._rows.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        self.native.pos = self._positions.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
        self.native.n_seq_id = self._sequences_n.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
        self.native.seq_id = addresses.ctypes.data_as(ctypes.POINTER(ctypes.POINTER(ctypes.c_int32)))
        self.native.logits = self._wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_int8))

    def clear(self) -> None:
        """Hold nothing."""
        self.used = self.native.n_tokens = 0

    def add(
        self,
        tokens: Sequence[int],
        at: int,
        last: int,
        n_vocab: int,
        sequence: int = _SEQUENCE,
        unread: Collection[int] = (),
    ) -> int:
        """Add tokens of a sequence from position ``at`` on, with scores wanted for the ``last`` of them but ``unread``.

        Returns the place of the first whose scores are wanted.
        """
        begin, end = self._take(len(tokens), sequence)
        self._tokens[begin:end] = tokens
        if max(tokens, default=0) >= n_vocab:
            # A draft may lack the padding at the end of the target's vocabulary; any token will do there.
            np.copyto(self._tokens[begin:end], 0, where=self._tokens[begin:end] >= n_vocab)
        self._positions[begin:end] = np.arange(at, at + len(tokens))
        self._wanted[begin:end] = 0
        wanted = self._wanted[end - last : end]
        wanted[:] = 1
        wanted[list(unread)] = 0
        return end - last + int(wanted.argmax()) if last else end

    def add_rows(
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
        begin, end = self._take(len(rows), sequence)
        self._rows[begin:end] = rows
        self._positions[begin:end] = np.arange(at, at + len(rows))
        self._wanted[begin:end] = scored
        if tokens is not None:
            self._tokens[begin:end] = tokens
            self.native.token = self._first_token
        else:
            self.native.token = None
            # An architecture with multimodal positions reads four a row; for text three are the same.
            self._positions[end : 3 * end] = np.tile(self._positions[:end], 2)
            self._positions[3 * end : _POSITIONS_N * end] = 0
        return end - 1

    def _take(self, n: int, sequence: int) -> tuple[int, int]:
        """The begin and the end of the places of ``n`` more of a sequence."""
        begin, end = self.used, self.used + n
        if end > self.capacity:
            raise ValueError(f"{end} tokens in a batch of {self.capacity}")
        self._sequences[begin:end] = sequence
        self.used = self.native.n_tokens = end
        return begin, end
