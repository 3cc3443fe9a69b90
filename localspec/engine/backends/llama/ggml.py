"""The functions of ggml that the binding does not declare: files, tensors, graphs.

They are objects of their own, so that nobody else's declarations change theirs.
"""

from __future__ import annotations

import ctypes
from functools import cache
from types import SimpleNamespace
from typing import Any

from localspec.engine.backends.llama.native import Native

LEAST_ALIGNMENT = 32
"""Tensors begin at multiples of so many bytes."""
F32 = 0
"""The number of a type of tensors."""
UINT16 = 2
"""GGUF's number of a type of metadata."""


class InitParams(ctypes.Structure):
    """ggml_init_params."""

    _fields_ = (("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool))


class GgufParams(ctypes.Structure):
    """gguf_init_params."""

    _fields_ = (("no_alloc", ctypes.c_bool), ("ctx", ctypes.c_void_p))


class ComputePlan(ctypes.Structure):
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


@cache
def ggml_functions(native: Native) -> SimpleNamespace | None:
    """The functions of ggml; None if this build keeps them elsewhere."""
    pointer, integer, long = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
    declarations: tuple[tuple[str, Any, tuple[Any, ...]], ...] = (
        ("gguf_init_from_file", pointer, (ctypes.c_char_p, GgufParams)),
        ("gguf_free", None, (pointer,)),
        ("gguf_find_key", long, (pointer, ctypes.c_char_p)),
        ("gguf_get_kv_type", integer, (pointer, long)),
        ("gguf_get_val_u16", ctypes.c_uint16, (pointer, long)),
        ("gguf_get_n_tensors", long, (pointer,)),
        ("gguf_get_tensor_name", ctypes.c_char_p, (pointer, long)),
        ("gguf_get_tensor_type", integer, (pointer, long)),
        ("gguf_get_tensor_ne", ctypes.POINTER(long), (pointer, long)),
        ("gguf_get_tensor_offset", ctypes.c_size_t, (pointer, long)),
        ("gguf_get_tensor_size", ctypes.c_size_t, (pointer, long)),
        ("gguf_get_data_offset", ctypes.c_size_t, (pointer,)),
        ("ggml_get_name", ctypes.c_char_p, (pointer,)),
        ("ggml_op_desc", ctypes.c_char_p, (pointer,)),
        ("ggml_nrows", long, (pointer,)),
        ("ggml_nelements", long, (pointer,)),
        ("ggml_row_size", ctypes.c_size_t, (integer, long)),
        ("ggml_init", pointer, (InitParams,)),
        ("ggml_free", None, (pointer,)),
        ("ggml_new_tensor_2d", pointer, (pointer, integer, long, long)),
        ("ggml_mul_mat", pointer, (pointer, pointer, pointer)),
        ("ggml_graph_overhead", ctypes.c_size_t, ()),
        ("ggml_new_graph", pointer, (pointer,)),
        ("ggml_build_forward_expand", None, (pointer, pointer)),
        ("ggml_backend_cpu_buffer_from_ptr", pointer, (pointer, ctypes.c_size_t)),
        ("ggml_backend_tensor_get", None, (pointer, pointer, ctypes.c_size_t, ctypes.c_size_t)),
        ("ggml_backend_tensor_alloc", integer, (pointer, pointer, pointer)),
        ("ggml_backend_buffer_free", None, (pointer,)),
        ("ggml_cpu_has_amx_int8", integer, ()),
        ("ggml_graph_plan", ComputePlan, (pointer, integer, pointer)),
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


def has_amx(native: Native) -> bool:
    """True on a CPU with AMX, for which ggml was compiled."""
    ggml = ggml_functions(native)
    return bool(ggml and ggml.ggml_cpu_has_amx_int8())
