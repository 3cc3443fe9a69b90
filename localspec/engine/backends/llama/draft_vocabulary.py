"""A draft vocabulary: the part of a large vocabulary that a draft's proposals are chosen among (arXiv 2502.14856).

A small draft spends most of its time on the scores of 150,000 tokens and more, for which it multiplies hidden rows with
an output matrix, its own or the target's. Few tokens are ever proposed: they are numbered about as they are frequent,
so the first 32,768 make up nearly all of English text and of code. Those that texts show beside them are added as they
are read.

The product is ggml's on the CPU, with rows of the matrix as they are in the file, which is mapped into memory.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterable, Sequence
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.engine.backends.llama.ggml import F32, InitParams, ggml_functions
from localspec.engine.backends.llama.native import Native
from localspec.engine.backends.llama.output_matrix import OF_MODEL, OutputMatrix
from localspec.engine.hidden import Rows
from localspec.engine.model import Logits

_ADDED_N = 8192
"""The most tokens that are added."""
_STEP = 64
"""Added rows are computed in such numbers, so that a graph serves for many."""
_WEIGHT = 1 / 64
"""The weight of the latest token in the share of tokens that were missing."""
_MOST_MISSING = 0.1
"""The share of missing tokens from which on all are scored."""
_TENSORS_BYTES = 1 << 14
_ALIGNMENT = 64
"""Bytes that tensors begin at multiples of; ggml asks for 32."""
_MOST_OFF = 0.02
"""Of the range of scores; rounding takes a thousandth."""
_TRIALS_N = 3
"""Answers with a draft vocabulary and without, of which the soonest counts."""


def agree(ours: Logits, theirs: Logits, among: Logits) -> bool:
    """True if our scores are llama.cpp's, but for rounding; ``among`` shows how far scores lie from each other."""
    finite = among[np.isfinite(among)]
    return finite.size > 0 and np.allclose(ours, theirs, rtol=0, atol=_MOST_OFF * np.ptp(finite))


def pays(whole: Callable[[], Logits], few: Callable[[], Logits], first_n: int, *, always: bool) -> bool:
    """True if the scores of the first tokens, as ``few`` gives them, agree with those of ``whole``, and come sooner.

    Each gives a row, valid until the next. With ``always`` they need not come sooner.
    """
    soonest_s, rows = [inf, inf], [np.empty(0, np.float32)] * 2
    for _ in range(_TRIALS_N):
        for n, scores in enumerate((whole, few)):
            begun = perf_counter()
            row = scores()
            soonest_s[n] = min(soonest_s[n], perf_counter() - begun)
            rows[n] = np.array(row[:first_n])
    return agree(rows[1], rows[0], rows[0]) and (always or soonest_s[1] < soonest_s[0])


class DraftVocabulary:
    """The tokens, and their scores. The owner calls ``close``."""

    def __init__(self, native: Native, matrix: OutputMatrix, n_vocab: int, first_n: int) -> None:
        """The first ``first_n`` of ``n_vocab`` tokens belong to it from the start, or all that the matrix is for.

        Raises OSError or ValueError if the file cannot be read.
        """
        tokens = matrix.tokens
        self._ggml = ggml_functions(native)
        self.matrix, self.n_vocab = matrix, n_vocab
        self.first_n = first_n if tokens is None else n_vocab
        """The first tokens, whose scores are as llama.cpp's."""
        self._first: slice | NDArray[np.int64] = slice(first_n) if tokens is None else tokens
        rows_n = n_vocab if tokens is None else len(tokens)
        with matrix.path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        size = rows_n * matrix.row_bytes
        self._bytes = np.frombuffer(mapped, np.uint8, size, matrix.offset).reshape(rows_n, matrix.row_bytes)
        self._added = _aligned((_ADDED_N, matrix.row_bytes), np.uint8)
        self._ids: set[int] = set()
        """The tokens that were added."""
        self._columns = np.zeros(_ADDED_N, np.intp)
        """The same, in order."""
        self._missing = 0.0
        self._graphs: dict[int, _Graph] = {}
        """By the number of rows."""
        self._sizes: tuple[int, ...] = ()
        """The threads, and the rows of the matrix, that the graphs are for."""
        self._room = _Room(0, 0, [])
        self._scores = np.empty((0, n_vocab), np.float32)

    @staticmethod
    def of(
        native: Native, path: Path, width: int, n_vocab: int, first_n: int, names: Sequence[str] = OF_MODEL
    ) -> DraftVocabulary | None:
        """That of the output matrix in a file (``OutputMatrix.find``); None if that is too small, or cannot be used."""
        try:
            matrix = OutputMatrix.find(native, path, names)
            if matrix is None or not _serves(matrix, width, n_vocab, first_n):
                return None
            return DraftVocabulary(native, matrix, n_vocab, first_n)
        except (OSError, ValueError):
            return None

    def read(self, tokens: Iterable[int]) -> None:
        """Add the tokens of a text."""
        for token in tokens if self.matrix.tokens is None else ():
            missing = token >= self.first_n and token not in self._ids
            self._missing += _WEIGHT * (missing - self._missing)
            added_n = len(self._ids)
            if missing and token < len(self._bytes) and added_n < _ADDED_N:
                self._added[added_n] = self._bytes[token]
                self._columns[added_n] = token
                self._ids.add(token)

    def scores(self, rows: Rows, threads: int) -> Logits:
        """The scores after hidden ``rows``, shape (n, n_vocab); valid until the next.

        ``rows`` are those that llama.cpp multiplies with the matrix. Other tokens have minus infinity, but their scores
        while many tokens of the texts are not in the vocabulary.
        """
        n, added_n = len(rows), len(self._ids)
        if self._missing >= _MOST_MISSING:
            (product,) = self._graph(n, [self._bytes], threads).compute(rows)
            return product
        if len(self._scores) < n:
            self._scores = np.full((n, self.n_vocab), -np.inf, np.float32)
        parts = [self._bytes[: self.first_n], self._added[: -(-added_n // _STEP) * _STEP]]
        first, added = self._graph(n, parts, threads).compute(rows)
        scores = self._scores[:n]
        scores[:, self._first] = first
        scores[:, self._columns[:added_n]] = added[:, :added_n]
        return scores

    def close(self) -> None:
        """Free the native memory."""
        for graph in self._graphs.values():
            graph.free()
        self._graphs.clear()

    def _graph(self, rows_n: int, parts: list[NDArray[np.uint8]], threads: int) -> _Graph:
        sizes = threads, *map(len, parts)
        if sizes != self._sizes or rows_n > self._room.rows_n:
            self.close()
            self._sizes = sizes
            self._room = _Room(max(rows_n, self._room.rows_n), self.matrix.width, [len(part) for part in parts])
        if rows_n not in self._graphs:
            self._graphs[rows_n] = _Graph(self._ggml, self.matrix, rows_n, parts, threads, self._room)
        return self._graphs[rows_n]


def _serves(matrix: OutputMatrix, width: int, n_vocab: int, first_n: int) -> bool:
    """True for a large matrix; ggml would end the process over one of another width."""
    if matrix.width != width:
        return False
    if matrix.tokens is None:
        return matrix.rows_n >= n_vocab >= 2 * first_n
    return bool(matrix.tokens.min() >= 0 and matrix.tokens.max() < n_vocab)


class _Room:
    """Memory for up to so many rows and their products, that graphs share."""

    def __init__(self, rows_n: int, width: int, products_widths: Sequence[int]) -> None:
        self.rows_n = rows_n
        self.rows = _aligned((rows_n, width), np.float32)
        self.products = [_aligned((rows_n * each,), np.float32) for each in products_widths]


class _Graph:
    """The products of so many rows with parts of the matrix, as ggml computes them."""

    def __init__(
        self,
        ggml: Any,
        matrix: OutputMatrix,
        rows_n: int,
        parts: list[NDArray[np.uint8]],
        threads: int,
        room: _Room,
    ) -> None:
        type_id, width = matrix.type_id, matrix.width
        self._ggml = ggml
        self._parts = parts
        self._rows = room.rows[:rows_n]
        self._products = [
            product[: rows_n * len(part)].reshape(rows_n, len(part))
            for product, part in zip(room.products, parts, strict=True)
        ]
        self._buffers: list[int] = []
        self._context = ggml.ggml_init(InitParams(_TENSORS_BYTES + ggml.ggml_graph_overhead(), None, True))
        rows = self._placed(ggml.ggml_new_tensor_2d(self._context, F32, width, rows_n), self._rows)
        self._graph = ggml.ggml_new_graph(self._context)
        for part, product in zip(parts, self._products, strict=True):
            if len(part):
                weights = self._placed(ggml.ggml_new_tensor_2d(self._context, type_id, width, len(part)), part)
                result = self._placed(ggml.ggml_mul_mat(self._context, weights, rows), product)
                ggml.ggml_build_forward_expand(self._graph, result)
        self._plan = ggml.ggml_graph_plan(self._graph, threads, None)
        self._work = _aligned((self._plan.work_size,), np.uint8)
        self._plan.work_data = self._work.ctypes.data

    def compute(self, rows: Rows) -> list[NDArray[np.float32]]:
        """The products with ``rows``, one a part; valid until the next."""
        self._rows[:] = rows
        self._ggml.ggml_graph_compute(self._graph, ctypes.byref(self._plan))
        return self._products

    def free(self) -> None:
        """Free the native memory."""
        for buffer in self._buffers:
            self._ggml.ggml_backend_buffer_free(buffer)
        self._ggml.ggml_free(self._context)

    def _placed(self, tensor: int, numbers: NDArray[Any]) -> int:
        """The tensor, its numbers in this array."""
        buffer = self._ggml.ggml_backend_cpu_buffer_from_ptr(numbers.ctypes.data, numbers.nbytes)
        self._buffers.append(buffer)
        self._ggml.ggml_backend_tensor_alloc(buffer, tensor, numbers.ctypes.data)
        return tensor


def _aligned(shape: tuple[int, ...], kind: type[Any]) -> NDArray[Any]:
    """Zeros that begin where ggml lets tensors begin."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    room = np.zeros(size + _ALIGNMENT, np.uint8)
    first = -room.ctypes.data % _ALIGNMENT
    aligned: NDArray[Any] = room[first : first + size].view(kind).reshape(shape)
    return aligned
