"""A second part of a GGUF file, made here: llama.cpp loads the tensors of both as one model's."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO

from localspec.engine.backends.llama.ggml import UINT16, UINT32

_ALIGNMENT = 64
"""Bytes that tensors begin at multiples of."""


@dataclass(frozen=True, slots=True)
class PartTensor:
    """A tensor of the part."""

    name: str
    shape: tuple[int, ...]
    """The length of a row comes first."""
    type_id: int
    """Ggml's number of its type."""
    size_bytes: int
    content: bytes = field(default=b"", repr=False)
    """Its first bytes; the others are zeros."""


@dataclass(frozen=True, slots=True)
class SecondPart:
    """The tensors that are added to a file, and the numbers that replace those of its metadata."""

    tensors: tuple[PartTensor, ...]
    metadata: Mapping[str, int] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """The size of its tensors."""
        return sum(tensor.size_bytes for tensor in self.tensors)

    def overrides(self, first_tensors_n: int) -> dict[str, int]:
        """The metadata for llama.cpp to replace in the file, which has so many tensors."""
        tensors_n = first_tensors_n + len(self.tensors)
        return {"split.no": 0, "split.count": 2, "split.tensors.count": tensors_n, **self.metadata}

    def write(self, file: IO[bytes]) -> None:
        """Write it; zeros take no room where the file system leaves them out."""
        header = [
            struct.pack("<4sIQQ", b"GGUF", 3, len(self.tensors), 2),
            *(_string("general.alignment"), struct.pack("<II", UINT32, _ALIGNMENT)),
            *(_string("split.no"), struct.pack("<IH", UINT16, 1)),
        ]
        offsets, end = [], 0
        for tensor in self.tensors:
            shape = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
            header += [_string(tensor.name), shape, struct.pack("<IQ", tensor.type_id, end)]
            offsets.append(end)
            end = _aligned(end + tensor.size_bytes)
        begin = _aligned(file.write(b"".join(header)))
        for tensor, offset in zip(self.tensors, offsets, strict=True):
            file.seek(begin + offset)
            file.write(tensor.content)
        file.truncate(begin + end)
        file.flush()


def _string(text: str) -> bytes:
    """A string as GGUF has it."""
    return struct.pack("<Q", len(text)) + text.encode()


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
