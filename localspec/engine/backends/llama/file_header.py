"""The header of a GGUF file as ggml reads it: its tensors, and if it is a part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localspec.engine.backends.llama.ggml import UINT16, GgufParams, ggml_functions
from localspec.engine.backends.llama.native import Native


@dataclass(frozen=True, slots=True)
class FileTensor:
    """A tensor of a file."""

    name: str
    shape: tuple[int, ...]
    """Four numbers, the length of a row first."""
    type_id: int
    offset: int
    """Bytes from the beginning of the file."""
    size_bytes: int


@dataclass(frozen=True, slots=True)
class FileHeader:
    """A header that is open."""

    ggml: Any
    handle: int

    @property
    def tensors(self) -> list[FileTensor]:
        """Its tensors."""
        ggml, handle = self.ggml, self.handle
        data_offset = ggml.gguf_get_data_offset(handle)
        return [
            FileTensor(
                ggml.gguf_get_tensor_name(handle, n).decode(errors="replace"),
                tuple(ggml.gguf_get_tensor_ne(handle, n)[:4]),
                ggml.gguf_get_tensor_type(handle, n),
                data_offset + ggml.gguf_get_tensor_offset(handle, n),
                ggml.gguf_get_tensor_size(handle, n),
            )
            for n in range(ggml.gguf_get_n_tensors(handle))
        ]

    @property
    def is_part(self) -> bool:
        """True if a model has other files beside it."""
        ggml, handle = self.ggml, self.handle
        number = ggml.gguf_find_key(handle, b"split.count")
        # ggml ends the process over a number of another type. A file that was merged of parts has 0.
        known = number >= 0 and ggml.gguf_get_kv_type(handle, number) == UINT16
        return number >= 0 and not (known and ggml.gguf_get_val_u16(handle, number) in (0, 1))


@contextmanager
def opened(native: Native, path: Path) -> Iterator[FileHeader | None]:
    """The header of a file; None if it cannot be read."""
    ggml = ggml_functions(native)
    handle = ggml and ggml.gguf_init_from_file(os.fsencode(path), GgufParams(True, None))
    try:
        yield FileHeader(ggml, handle) if handle else None
    finally:
        if ggml and handle:
            ggml.gguf_free(handle)


def tensor_names(native: Native, path: Path) -> list[str]:
    """The names of a file's tensors; none if it cannot be read."""
    with opened(native, path) as file:
        return [tensor.name for tensor in file.tensors] if file else []
