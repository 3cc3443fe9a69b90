"""A second context over the same weights, for short texts on the CPU.

Attention as one fused step costs what the cells hold. Step by step it costs what 256 cells hold at least, but reads
the cache once for all rows of a batch. So short texts are quicker fused, long ones unfused (figures in
docs/benchmarks.md). A context cannot change how it computes attention, hence two: the cells are carried from one to
the other as llama.cpp saves them, where keys lie the same and values are transposed in the unfused one.

Values that are f16 in the one for long texts are bf16 here, where the CPU is quicker with them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.engine.backends.llama.fused_attention import BF16, fused_value_type

SHORT_N = 256
"""Texts of up to so many tokens are short: the places that the unfused step computes in any case."""
SHORT_CELLS_N = 512
"""The cells of the context for short texts: proposals and a batch read at once may reach past the limit."""
_BACK_N = 224
"""A text cut to so many tokens is short again. In between it stays where it is, because a draft goes to and fro."""
_SEQUENCE = 0
_FRONT_BYTES = 8
_CELL_BYTES = 12
"""The position of a cell, the number of its sequences (1), and its sequence."""
_F32, _F16, _BF16 = 0, 1, 30
"""ggml's numbers of types."""
_VALUE_BYTES = {_F32: 4, _F16: 2, _BF16: 2}


def takes_short_texts(c: Any, model: Any) -> bool:
    """True if all that a context of ``model`` holds are cells that can be carried."""
    window_n = c.llama_model_n_swa(model)
    has_states = c.llama_model_is_recurrent(model) or c.llama_model_is_hybrid(model)
    return not has_states and (window_n <= 0 or window_n >= SHORT_CELLS_N)


def is_short(n: int, *, now: bool) -> bool:
    """True if a text of ``n`` tokens belongs into the short context; ``now``, if it is there."""
    return n <= (SHORT_N if now else _BACK_N)


def short_value_type(value_type: int) -> int:
    """Ggml's number of the type of values in the context for short texts, by that in the one for long texts."""
    return _BF16 if value_type == _F16 and fused_value_type() == BF16 else value_type


def carry(c: Any, source: Any, destination: Any, value_type: int) -> bool:
    """Move all cells to a context whose values lie the other way, and are of a type with this number in ggml.

    False if it holds nothing now, as ``source`` does.
    """
    size = c.llama_state_seq_get_size_ext(source, _SEQUENCE, 0)
    state = np.empty(size, np.uint8)
    taken = c.llama_state_seq_get_data_ext(source, pointer(state), size, _SEQUENCE, 0) == size
    c.llama_memory_clear(c.llama_get_memory(source), False)
    c.llama_memory_clear(c.llama_get_memory(destination), False)
    other = transposed(state, value_type) if taken else None
    if other is None:
        return False
    if c.llama_state_seq_set_data_ext(destination, pointer(other), len(other), _SEQUENCE, 0) == len(other):
        return True
    c.llama_memory_clear(c.llama_get_memory(destination), False)
    return False


def transposed(state: NDArray[np.uint8], value_type: int) -> NDArray[np.uint8] | None:
    """The state of a sequence, as llama.cpp saves it, with values of this type the other way; None for a strange one.

    In front a magic number and the sequence. Then a part for each kind of cache that the model has: cells, keys by
    layer (rows of a cell), then values by layer (rows of a cell, or transposed; none where keys serve for both).
    """
    reader = _Reader(state)
    try:
        pieces = [reader.bytes(_FRONT_BYTES)]
        while not reader.at_end:
            pieces += _part(reader, value_type)
    except ValueError:
        return None
    return np.concatenate(pieces)


class _Reader:
    """Reads a state from the beginning. Every method raises ValueError where the state ends before."""

    def __init__(self, state: NDArray[np.uint8]) -> None:
        self._state = state
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at == len(self._state)

    def bytes(self, n: int) -> NDArray[np.uint8]:
        """The next ``n`` bytes, where they lie."""
        if n > len(self._state) - self._at:
            raise ValueError("cut short")
        self._at += n
        return self._state[self._at - n : self._at]

    def number(self, bytes_n: int) -> int:
        return int.from_bytes(self.bytes(bytes_n).tobytes(), "little")


def _part(reader: _Reader, wanted: int) -> Iterator[NDArray[np.uint8]]:
    """One kind of cache, with values the other way. Raises ValueError."""
    streams_n, cells_n = reader.number(4), reader.number(4)
    if streams_n != 1 or not cells_n:
        raise ValueError("not the cells of one sequence")
    yield _numbers((streams_n, 4), (cells_n, 4))
    yield reader.bytes(cells_n * _CELL_BYTES)
    lies_across, layers_n = reader.number(4), reader.number(4)
    if lies_across > 1:
        raise ValueError("cells of another format")
    yield _numbers((1 - lies_across, 4), (layers_n, 4))
    for _ in range(layers_n):
        key_type, row_bytes = reader.number(4), reader.number(8)
        yield _numbers((key_type, 4), (row_bytes, 8))
        yield reader.bytes(row_bytes * cells_n)
    for _ in range(layers_n if not reader.at_end else 0):
        yield from (_as_rows if lies_across else _across)(reader, cells_n, wanted)


def _as_rows(reader: _Reader, cells_n: int, wanted: int) -> Iterator[NDArray[np.uint8]]:
    """A layer's values, given transposed, with a row for each cell."""
    value_type, size, width = reader.number(4), reader.number(4), reader.number(4)
    yield _numbers((wanted, 4), (width * size, 8))
    yield _transposed(_converted(reader.bytes(width * cells_n * size), value_type, wanted), width, size)


def _across(reader: _Reader, cells_n: int, wanted: int) -> Iterator[NDArray[np.uint8]]:
    """A layer's values, given with a row for each cell, transposed."""
    value_type, row_bytes = reader.number(4), reader.number(8)
    size = _VALUE_BYTES.get(value_type)
    if size is None:
        raise ValueError("quantised values")
    yield _numbers((wanted, 4), (size, 4), (row_bytes // size, 4))
    yield _transposed(_converted(reader.bytes(row_bytes * cells_n), value_type, wanted), cells_n, size)


def _converted(values: NDArray[np.uint8], given: int, wanted: int) -> NDArray[np.uint8]:
    """Values of f16 as bf16 or the other way, rounded to the nearest. Raises ValueError for other types."""
    if given == wanted:
        return values
    if {given, wanted} != {_F16, _BF16}:
        raise ValueError("values of other types")
    if given == _BF16:
        bits = values.view(np.uint16).astype(np.uint32) << np.uint32(16)
        with np.errstate(over="ignore"):
            return bits.view(np.float32).astype(np.float16).view(np.uint8)
    bits = values.view(np.float16).astype(np.float32).view(np.uint32)
    bits += np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
    return (bits >> np.uint32(16)).astype(np.uint16).view(np.uint8)


def _transposed(values: NDArray[np.uint8], rows_n: int, size: int) -> NDArray[np.uint8]:
    """Values of ``size`` bytes, transposed."""
    table = values.view(f"u{size}").reshape(rows_n, -1)
    return np.ascontiguousarray(table.T).reshape(-1).view(np.uint8)


def _numbers(*numbers: tuple[int, int]) -> NDArray[np.uint8]:
    """Numbers, each with the bytes that it takes, as llama.cpp writes them."""
    return np.frombuffer(b"".join(number.to_bytes(size, "little") for number, size in numbers), np.uint8)


def pointer(data: NDArray[np.uint8]) -> Any:
    """The address of bytes, as llama.cpp takes it."""
    return data.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
