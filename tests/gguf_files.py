"""Writes small GGUF files for tests: metadata, tensor infos, data. Independent of the reader it tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import pack
from typing import TypeAlias

UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64, INT64, FLOAT64 = range(13)
F32, F16, Q4_0, Q8_0 = 0, 1, 2, 8

_FORMATS = {UINT8: "B", INT8: "b", UINT16: "H", INT16: "h", UINT32: "I", INT32: "i", FLOAT32: "f", BOOL: "B"}
_FORMATS |= {UINT64: "Q", INT64: "q", FLOAT64: "d"}
_TENSOR_BYTES = {F32: 4.0, F16: 2.0, Q4_0: 18 / 32, Q8_0: 34 / 32}

Scalar: TypeAlias = "bool | int | float | str"


@dataclass(frozen=True)
class Typed:
    """A metadata value with the type it is to be written as."""

    type_id: int
    value: Scalar | Sequence[Scalar]


Plain: TypeAlias = "Typed | bool | int | str | Sequence[str] | Sequence[int]"


@dataclass(frozen=True)
class Tensor:
    """A tensor to be written; its data are zeros."""

    name: str
    shape: tuple[int, ...]
    type_id: int = F32

    @property
    def size_bytes(self) -> int:
        elements = 1
        for length in self.shape:
            elements *= length
        return int(elements * _TENSOR_BYTES[self.type_id])


def string(text: str) -> bytes:
    data = text.encode(errors="surrogateescape")
    return pack("<Q", len(data)) + data


def scalar(type_id: int, value: Scalar) -> bytes:
    if type_id == STRING:
        return string(str(value))
    return pack("<" + _FORMATS[type_id], value)


def entry(key: str, plain: Plain) -> bytes:
    """A metadata entry: bools as BOOL, numbers as UINT32, texts as STRING, sequences as arrays of INT32 or STRING."""
    typed = plain if isinstance(plain, Typed) else _typed(plain)
    if isinstance(typed.value, str) or not isinstance(typed.value, Sequence):
        return string(key) + pack("<I", typed.type_id) + scalar(typed.type_id, typed.value)
    head = string(key) + pack("<IIQ", ARRAY, typed.type_id, len(typed.value))
    return head + b"".join(scalar(typed.type_id, item) for item in typed.value)


def _typed(plain: bool | int | str | Sequence[str] | Sequence[int]) -> Typed:
    if isinstance(plain, bool):
        return Typed(BOOL, plain)
    if isinstance(plain, int):
        return Typed(UINT32, plain)
    if isinstance(plain, str):
        return Typed(STRING, plain)
    return Typed(INT32 if plain and isinstance(plain[0], int) else STRING, plain)


def gguf(
    metadata: Mapping[str, Plain] | None = None,
    tensors: Sequence[Tensor] = (),
    *,
    version: int = 3,
    alignment: int = 32,
    n_tensors: int | None = None,
    n_entries: int | None = None,
) -> bytes:
    """The bytes of a GGUF file; counts may be made to lie."""
    entries = {"general.architecture": "llama"} | dict(metadata or {})
    out = b"GGUF" + pack(
        "<IQQ",
        version,
        len(tensors) if n_tensors is None else n_tensors,
        len(entries) if n_entries is None else n_entries,
    )
    out += b"".join(entry(key, value) for key, value in entries.items())
    data = b""
    for tensor in tensors:
        shape = pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
        out += string(tensor.name) + shape + pack("<IQ", tensor.type_id, len(data))
        data += bytes(_padded(tensor.size_bytes, alignment))
    return out + bytes(-len(out) % alignment) + data if tensors else out


def _padded(size: int, alignment: int) -> int:
    return size + -size % alignment


TOKENS = ("<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "a", "b", "c", "ab", "abc", "d", "e")


def model(
    *,
    tokens: Sequence[str] = TOKENS,
    metadata: Mapping[str, Plain] | None = None,
    tensors: Sequence[Tensor] = (Tensor("token_embd.weight", (8, 12)), Tensor("output.weight", (32, 12), Q8_0)),
) -> bytes:
    """A file with all that LocalSpec reads of a small Llama model with a BPE vocabulary."""
    entries: dict[str, Plain] = {
        "general.name": "Test model",
        "general.license": "mit",
        "general.file_type": 15,
        "llama.context_length": 2048,
        "llama.block_count": 4,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tuple(tokens),
        "tokenizer.ggml.token_type": tuple(1 for _ in tokens),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.chat_template": "{{ messages }}",
    }
    return gguf(entries | dict(metadata or {}), tensors)


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
