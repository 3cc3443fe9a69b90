"""The output matrix of a model as it lies in its GGUF file: a row for each token."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localspec.engine.backends.llama.ggml import I64, LEAST_ALIGNMENT, UINT16, UINT32, GgufParams, ggml_functions
from localspec.engine.backends.llama.native import Native

_OF_MTP = r"blk\.\d+\.nextn\.shared_head_head\.weight"
_OF_TARGET = (r"output\.weight", r"token_embd\.weight")
"""The names that an output matrix may have; the first of them that a file has is it."""
_SCALE = "output.scale"
"""A tensor that scores are multiplied with."""
_ALIGNMENT = 64
"""Bytes that tensors of a file that is made here begin at multiples of."""
FIRST_ROW_TENSORS_N = 2
"""Tensors in a file of ``OutputMatrix.first_row``."""


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
            if row_numbers_n != width or offset % LEAST_ALIGNMENT:
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
                *(_string("general.alignment"), struct.pack("<II", UINT32, _ALIGNMENT)),
                *(_string("split.no"), struct.pack("<IH", UINT16, 1)),
                *(_string("output.weight"), struct.pack("<IQQIQ", 2, self.width, 1, self.type_id, 0)),
                *(_string("d2t"), struct.pack("<IQIQ", 1, 1, I64, tokens_at)),
            )
        )
        data_at = -(-len(header) // _ALIGNMENT) * _ALIGNMENT
        token = struct.pack("<q", 0).ljust(_ALIGNMENT, b"\0")
        return header.ljust(data_at, b"\0") + row.ljust(tokens_at, b"\0") + token


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
        merged = key >= 0 and ggml.gguf_get_kv_type(handle, key) == UINT16 and ggml.gguf_get_val_u16(handle, key) <= 1
        return bool(key >= 0 and not merged)


@contextmanager
def _opened(native: Native, path: Path) -> Iterator[_Header | None]:
    ggml = ggml_functions(native)
    handle = ggml and ggml.gguf_init_from_file(os.fsencode(path), GgufParams(True, None))
    try:
        yield _Header(ggml, handle) if handle else None
    finally:
        if ggml and handle:
            ggml.gguf_free(handle)


def _string(text: str) -> bytes:
    """A string as GGUF has it."""
    return struct.pack("<Q", len(text)) + text.encode()
