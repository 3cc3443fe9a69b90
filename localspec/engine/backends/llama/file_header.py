"""The header of a GGUF file as ggml reads it: its tensors and some numbers of its metadata."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localspec.engine.backends.llama.ggml import FLOAT32, STRING, UINT16, UINT32, GgufParams, ggml_functions
from localspec.engine.backends.llama.native import Native

_GETTERS = {UINT16: "gguf_get_val_u16", UINT32: "gguf_get_val_u32", FLOAT32: "gguf_get_val_f32"}


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
        # A file that was merged of parts has 0.
        return self._has("split.count") and self.number("split.count", UINT16) not in (0, 1)

    @property
    def architecture(self) -> str:
        """The name of the model's architecture; empty if there is none."""
        name = self._value("general.architecture", STRING, "gguf_get_val_str")
        return name.decode(errors="replace") if name else ""

    def number(self, key: str, kind: int) -> float | None:
        """A number of the metadata; None if it is not there, or of another type than ``kind``, as GGUF numbers them."""
        found: float | None = self._value(key, kind, _GETTERS[kind])
        return found

    def _has(self, key: str) -> bool:
        return bool(self.ggml.gguf_find_key(self.handle, key.encode()) >= 0)

    def _value(self, key: str, kind: int, getter: str) -> Any:
        """A value of the metadata. ggml ends the process over one of another type."""
        ggml, handle = self.ggml, self.handle
        number = ggml.gguf_find_key(handle, key.encode())
        if number < 0 or ggml.gguf_get_kv_type(handle, number) != kind:
            return None
        return getattr(ggml, getter)(handle, number)


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
