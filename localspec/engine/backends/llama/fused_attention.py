"""The type of a cache's values that this machine's CPU computes fused attention quickest with, measured.

llama.cpp adds weighted f16 values up in f16, and converts the sum to f32 and back at each place. Those of any other
type it adds up in f32. Some processors take half the time for bf16, others half as much again (docs/benchmarks.md).
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from localspec.engine.backends.llama.native import declare, native

F16: Final = "f16"
BF16: Final = "bf16"
_TYPES = {F16: 1, BF16: 30}
"""ggml's numbers of types."""
_F32 = 0
_WIDTH, _CELLS_N, _HEADS_N, _ROWS_N = 128, 256, 8, 4
"""A verification of four rows in a short text, of one layer."""
_POOL_BYTES = 8 << 20
_REPEATS = 5
_CLEARLY = 0.9
"""bf16, the coarser one, is taken where it needs no more than this share of f16's time."""


class _InitParams(ctypes.Structure):
    """``ggml_init_params``."""

    _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


@cache
def fused_value_type() -> str:
    """``F16`` or ``BF16``; takes some milliseconds once in a process. Raises EngineError if llama.cpp does not load."""
    return quicker(measured(native().c._lib))


def quicker(spent_s: Mapping[str, float]) -> str:
    """The type to take by the time that each takes; f16 where nothing was measured."""
    return BF16 if spent_s and spent_s[BF16] < _CLEARLY * spent_s[F16] else F16


def measured(library: Any) -> dict[str, float]:
    """The seconds of the same step with values of each type, the best of a few in turns.

    Empty where the library lacks a function, as where the CPU's is loaded apart.
    """
    try:
        _declare(library)
    except AttributeError:
        return {}
    pools = {name: library.ggml_init(_InitParams(_POOL_BYTES, None, False)) for name in _TYPES}
    try:
        if not all(pools.values()):
            return {}
        graphs = {name: _step(library, pools[name], number) for name, number in _TYPES.items()}
        spent_s: dict[str, list[float]] = {name: [] for name in graphs}
        for _ in range(_REPEATS):
            for name, graph in graphs.items():
                started = time.perf_counter()
                library.ggml_graph_compute_with_ctx(pools[name], graph, 1)
                spent_s[name].append(time.perf_counter() - started)
        return {name: min(each) for name, each in spent_s.items()}
    finally:
        for pool in pools.values():
            library.ggml_free(pool)


def _declare(library: Any) -> None:
    """Declare the functions of ggml.h that are needed. Raises AttributeError if one is not there."""
    pointer, size, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float
    declare(
        library,
        ("ggml_init", pointer, (_InitParams,)),
        ("ggml_free", None, (pointer,)),
        ("ggml_new_tensor_4d", pointer, (pointer, ctypes.c_int, size, size, size, size)),
        ("ggml_set_zero", pointer, (pointer,)),
        ("ggml_flash_attn_ext", pointer, (pointer, pointer, pointer, pointer, pointer, number, number, number)),
        ("ggml_new_graph", pointer, (pointer,)),
        ("ggml_build_forward_expand", None, (pointer, pointer)),
        ("ggml_graph_compute_with_ctx", ctypes.c_int, (pointer, pointer, ctypes.c_int)),
    )


def _step(library: Any, pool: Any, value_type: int) -> Any:
    """A graph of one step over zeros, in the memory of ``pool``."""
    query = library.ggml_new_tensor_4d(pool, _F32, _WIDTH, _ROWS_N, _HEADS_N, 1)
    keys, values = (
        library.ggml_new_tensor_4d(pool, number, _WIDTH, _CELLS_N, _HEADS_N, 1) for number in (_TYPES[F16], value_type)
    )
    for tensor in (query, keys, values):
        library.ggml_set_zero(tensor)
    graph = library.ggml_new_graph(pool)
    library.ggml_build_forward_expand(
        graph, library.ggml_flash_attn_ext(pool, query, keys, values, None, 1.0, 0.0, 0.0)
    )
    return graph
