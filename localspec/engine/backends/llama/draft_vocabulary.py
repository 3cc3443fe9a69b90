"""A draft vocabulary: the part of a large vocabulary that a head's proposals are chosen among (arXiv 2502.14856).

A small head spends most of its time on the scores of 150,000 tokens and more, for which it multiplies hidden rows with
the target's output matrix. Few tokens are ever proposed: they are numbered about as they are frequent, so the first
32,768 make up nearly all of English text and of code. Those that texts show beside them are added as they are read.

The product is ggml's on the CPU, with rows of the matrix as they are in the file, which is mapped into memory.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.engine.backends.llama.native import Native
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
_ALIGNMENT, _LEAST_ALIGNMENT = 64, 32
"""Tensors begin at multiples of so many bytes: those that are made here, and those that ggml takes."""
_MOST_OFF = 0.02
"""Of the range of scores; rounding takes a thousandth."""
FIRST_ROW_TENSORS_N = 2
"""Tensors in a file of ``OutputMatrix.first_row``."""
_F32, _I64 = 0, 27
"""ggml's numbers of types."""
_UINT16, _UINT32 = 2, 4
"""GGUF's numbers of types of metadata."""
_OF_MTP = r"blk\.\d+\.nextn\.shared_head_head\.weight"
_OF_TARGET = (r"output\.weight", r"token_embd\.weight")
"""The names that an output matrix may have; the first of them that a file has is it."""
_SCALE = "output.scale"
"""A tensor that scores are multiplied with."""


class _InitParams(ctypes.Structure):
    """ggml_init_params."""

    _fields_ = (("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool))


class _GgufParams(ctypes.Structure):
    """gguf_init_params."""

    _fields_ = (("no_alloc", ctypes.c_bool), ("ctx", ctypes.c_void_p))


class _Plan(ctypes.Structure):
    """ggml_cplan."""

    _fields_ = (
        ("work_size", ctypes.c_size_t),
        ("work_data", ctypes.c_void_p),
        ("n_threads", ctypes.c_int),
        ("threadpool", ctypes.c_void_p),
        ("abort_callback", ctypes.c_void_p),
        ("abort_callback_data", ctypes.c_void_p),
        ("use_ref", ctypes.c_bool),
        # Room for members that a newer ggml may have.
        ("_more", ctypes.c_uint8 * 64),
    )


@dataclass(frozen=True, slots=True)
class OutputMatrix:
    """The place of an output matrix in a file: a row for each token."""

    path: Path
    width: int
    """Numbers in a row."""
    offset: int
    """Bytes from the beginning of the file."""
    type_id: int
    row_bytes: int
    rows_n: int

    @staticmethod
    def find(native: Native, path: Path, width: int, *, mtp: bool) -> OutputMatrix | None:
        """That of the target or, with ``mtp``, of its MTP layer, which may have its own.

        None if the file has none of this width or is a part, or if this build of llama.cpp cannot read it.
        """
        patterns = (_OF_MTP, *_OF_TARGET) if mtp else _OF_TARGET
        with _opened(native, path) as file:
            names = file.names if file else []
            found = (n for pattern in patterns for n, name in enumerate(names) if re.fullmatch(pattern, name))
            number = next(found, None)
            if file is None or number is None or file.is_part or _SCALE in names:
                return None
            ggml, handle = file.ggml, file.handle
            row_numbers_n, rows_n = ggml.gguf_get_tensor_ne(handle, number)[:2]
            offset = ggml.gguf_get_data_offset(handle) + ggml.gguf_get_tensor_offset(handle, number)
            # ggml would end the process over another width, and over a tensor that begins anywhere.
            if row_numbers_n != width or offset % _LEAST_ALIGNMENT:
                return None
            type_id = ggml.gguf_get_tensor_type(handle, number)
            return OutputMatrix(path, width, offset, type_id, ggml.ggml_row_size(type_id, width), rows_n)

    def first_row(self) -> bytes:
        """A file for llama.cpp to load as the second part of a head: its output is this matrix's first row alone."""
        with self.path.open("rb") as file:
            file.seek(self.offset)
            row = file.read(self.row_bytes)
        tokens_at = -(-len(row) // _ALIGNMENT) * _ALIGNMENT
        header = b"".join(
            (
                struct.pack("<4sIQQ", b"GGUF", 3, 2, 2),
                *(_string("general.alignment"), struct.pack("<II", _UINT32, _ALIGNMENT)),
                *(_string("split.no"), struct.pack("<IH", _UINT16, 1)),
                *(_string("output.weight"), struct.pack("<IQQIQ", 2, self.width, 1, self.type_id, 0)),
                *(_string("d2t"), struct.pack("<IQIQ", 1, 1, _I64, tokens_at)),
            )
        )
        data_at = -(-len(header) // _ALIGNMENT) * _ALIGNMENT
        token = struct.pack("<q", 0).ljust(_ALIGNMENT, b"\0")
        return header.ljust(data_at, b"\0") + row.ljust(tokens_at, b"\0") + token


def agree(ours: Logits, theirs: Logits, among: Logits) -> bool:
    """True if our scores are llama.cpp's, but for rounding; ``among`` shows how far scores lie from each other."""
    finite = among[np.isfinite(among)]
    return finite.size > 0 and np.allclose(ours, theirs, rtol=0, atol=_MOST_OFF * np.ptp(finite))


def multiplies_quickly(native: Native) -> bool:
    """True on a CPU with AMX, whose products of several rows in llama.cpp take less time than those here."""
    ggml = ggml_functions(native)
    return bool(ggml and ggml.ggml_cpu_has_amx_int8())


def tensor_names(native: Native, path: Path) -> list[str]:
    """The names of a file's tensors; none if it cannot be read."""
    with _opened(native, path) as file:
        return file.names if file else []


@dataclass(frozen=True, slots=True)
class _Header:
    """The header of a GGUF file, as ggml has read it."""

    ggml: Any
    handle: int

    @property
    def names(self) -> list[str]:
        """The names of its tensors."""
        ggml, handle = self.ggml, self.handle
        names = (ggml.gguf_get_tensor_name(handle, n) for n in range(ggml.gguf_get_n_tensors(handle)))
        return [name.decode(errors="replace") for name in names]

    @property
    def is_part(self) -> bool:
        """True if a model has other files beside it."""
        ggml, handle = self.ggml, self.handle
        key = ggml.gguf_find_key(handle, b"split.count")
        # A file that was merged of parts has 0. ggml ends the process over a number of another type.
        merged = key >= 0 and ggml.gguf_get_kv_type(handle, key) == _UINT16 and ggml.gguf_get_val_u16(handle, key) <= 1
        return bool(key >= 0 and not merged)


@contextmanager
def _opened(native: Native, path: Path) -> Iterator[_Header | None]:
    ggml = ggml_functions(native)
    handle = ggml and ggml.gguf_init_from_file(os.fsencode(path), _GgufParams(True, None))
    try:
        yield _Header(ggml, handle) if handle else None
    finally:
        if ggml and handle:
            ggml.gguf_free(handle)


def _string(text: str) -> bytes:
    """A string as GGUF has it."""
    return struct.pack("<Q", len(text)) + text.encode()


class DraftVocabulary:
    """The tokens, and their scores. The owner calls ``close``."""

    def __init__(self, native: Native, matrix: OutputMatrix, n_vocab: int, first_n: int) -> None:
        """``first_n`` of ``n_vocab`` tokens belong to it from the start.

        Raises OSError or ValueError if the file cannot be read.
        """
        self._ggml = ggml_functions(native)
        self._first_n, self.matrix = first_n, matrix
        with matrix.path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        size = n_vocab * matrix.row_bytes
        self._bytes = np.frombuffer(mapped, np.uint8, size, matrix.offset).reshape(n_vocab, matrix.row_bytes)
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
        native: Native, path: Path, width: int, n_vocab: int, first_n: int, *, mtp: bool = False
    ) -> DraftVocabulary | None:
        """That of the output matrix in a file (``OutputMatrix.find``); None if that is too small, or cannot be used."""
        matrix = OutputMatrix.find(native, path, width, mtp=mtp)
        if matrix is None or matrix.rows_n < n_vocab or n_vocab < 2 * first_n:
            return None
        try:
            return DraftVocabulary(native, matrix, n_vocab, first_n)
        except (OSError, ValueError):
            return None

    @property
    def serves(self) -> bool:
        """False while many tokens of the texts are others."""
        return self._missing < _MOST_MISSING

    def read(self, tokens: Iterable[int]) -> None:
        """Add the tokens of a text."""
        for token in tokens:
            missing = token >= self._first_n and token not in self._ids
            self._missing += _WEIGHT * (missing - self._missing)
            added_n = len(self._ids)
            if missing and token < len(self._bytes) and added_n < _ADDED_N:
                self._added[added_n] = self._bytes[token]
                self._columns[added_n] = token
                self._ids.add(token)

    def scores(self, rows: Rows, threads: int) -> Logits:
        """The scores after hidden ``rows``, shape (n, n_vocab); valid until the next.

        ``rows`` are those that llama.cpp multiplies with the matrix. Other tokens have minus infinity while it
        ``serves``, and their scores otherwise.
        """
        n, added_n = len(rows), len(self._ids)
        if not self.serves:
            (product,) = self._graph(n, [self._bytes], threads).compute(rows)
            return product
        if len(self._scores) < n:
            self._scores = np.full((n, len(self._bytes)), -np.inf, np.float32)
        parts = [self._bytes[: self._first_n], self._added[: -(-added_n // _STEP) * _STEP]]
        first, added = self._graph(n, parts, threads).compute(rows)
        scores = self._scores[:n]
        scores[:, : self._first_n] = first
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
        self._context = ggml.ggml_init(_InitParams(_TENSORS_BYTES + ggml.ggml_graph_overhead(), None, True))
        rows = self._placed(ggml.ggml_new_tensor_2d(self._context, _F32, width, rows_n), self._rows)
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


@cache
def ggml_functions(native: Native) -> SimpleNamespace | None:
    """The functions of ggml; None if this build keeps them elsewhere."""
    pointer, integer, long = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
    declarations: tuple[tuple[str, Any, tuple[Any, ...]], ...] = (
        ("gguf_init_from_file", pointer, (ctypes.c_char_p, _GgufParams)),
        ("gguf_free", None, (pointer,)),
        ("gguf_find_key", long, (pointer, ctypes.c_char_p)),
        ("gguf_get_kv_type", integer, (pointer, long)),
        ("gguf_get_val_u16", ctypes.c_uint16, (pointer, long)),
        ("gguf_get_n_tensors", long, (pointer,)),
        ("gguf_get_tensor_name", ctypes.c_char_p, (pointer, long)),
        ("gguf_get_tensor_type", integer, (pointer, long)),
        ("gguf_get_tensor_ne", ctypes.POINTER(long), (pointer, long)),
        ("gguf_get_tensor_offset", ctypes.c_size_t, (pointer, long)),
        ("gguf_get_data_offset", ctypes.c_size_t, (pointer,)),
        ("ggml_row_size", ctypes.c_size_t, (integer, long)),
        ("ggml_init", pointer, (_InitParams,)),
        ("ggml_free", None, (pointer,)),
        ("ggml_new_tensor_2d", pointer, (pointer, integer, long, long)),
        ("ggml_mul_mat", pointer, (pointer, pointer, pointer)),
        ("ggml_graph_overhead", ctypes.c_size_t, ()),
        ("ggml_new_graph", pointer, (pointer,)),
        ("ggml_build_forward_expand", None, (pointer, pointer)),
        ("ggml_backend_cpu_buffer_from_ptr", pointer, (pointer, ctypes.c_size_t)),
        ("ggml_backend_tensor_alloc", integer, (pointer, pointer, pointer)),
        ("ggml_backend_buffer_free", None, (pointer,)),
        ("ggml_cpu_has_amx_int8", integer, ()),
        ("ggml_graph_plan", _Plan, (pointer, integer, pointer)),
        ("ggml_graph_compute", integer, (pointer, pointer)),
    )
    try:
        functions = {
            name: ctypes.CFUNCTYPE(result, *arguments)((name, native.c._lib))
            for name, result, arguments in declarations
        }
    except AttributeError:
        return None
    return SimpleNamespace(**functions)
