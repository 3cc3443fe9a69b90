"""Model files for measuring: a network of one type of weights, all of them zero, which takes no room on the disk.

The time of a kernel does not depend on the values. A minimal GGUF file (version 3) of llama's architecture, without a
vocabulary.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path

from localspec.gguf.tensors import TENSOR_TYPES

N_VOCAB = 32
HEAD_WIDTH = 64
_ALIGNMENT = 32
_F32 = "F32"
_TYPE_IDS = {name: type_id for type_id, (name, *_) in TENSOR_TYPES.items()}
_UINT32, _FLOAT32, _STRING = 4, 6, 8


@dataclass(frozen=True, slots=True)
class SampleShape:
    """The dimensions of the network."""

    width: int
    feed_forward: int
    n_layers: int

    @property
    def weights_n(self) -> int:
        """Weights in the matrices of all layers."""
        return self.n_layers * sum(map(prod, self.matrices().values()))

    def matrices(self) -> dict[str, tuple[int, int]]:
        """The matrices of a layer as (input, output)."""
        square, up = (self.width, self.width), (self.width, self.feed_forward)
        attention = {f"attn_{name}": square for name in ("q", "k", "v", "output")}
        return attention | {"ffn_gate": up, "ffn_up": up, "ffn_down": (self.feed_forward, self.width)}


def matrix_bytes(shape: SampleShape, kind: str) -> int:
    """Bytes of all matrices at a type."""
    _, elements, size = TENSOR_TYPES[_TYPE_IDS[kind]]
    return shape.weights_n // elements * size


def write_sample(path: Path, shape: SampleShape, kind: str, n_ctx: int) -> None:
    """Write the network with matrices of type ``kind``. Raises OSError."""
    tensors: list[tuple[str, tuple[int, ...], str]] = [
        ("token_embd", (shape.width, N_VOCAB), _F32),
        ("output_norm", (shape.width,), _F32),
        ("output", (shape.width, N_VOCAB), _F32),
    ]
    for layer in range(shape.n_layers):
        tensors += [(f"blk.{layer}.{name}", (shape.width,), _F32) for name in ("attn_norm", "ffn_norm")]
        tensors += [(f"blk.{layer}.{name}", size, kind) for name, size in shape.matrices().items()]
    entries = _entries(shape, n_ctx)
    infos, offset = b"", 0
    for name, size, tensor_kind in tensors:
        type_id = _TYPE_IDS[tensor_kind]
        infos += _text(f"{name}.weight") + struct.pack(f"<I{len(size)}QIQ", len(size), *size, type_id, offset)
        _, elements, block_bytes = TENSOR_TYPES[type_id]
        offset += -(-prod(size) // elements * block_bytes // _ALIGNMENT) * _ALIGNMENT
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries)) + b"".join(entries) + infos
    with path.open("wb") as stream:
        stream.write(head)
        stream.truncate(-(-len(head) // _ALIGNMENT) * _ALIGNMENT + offset)


def _entries(shape: SampleShape, n_ctx: int) -> list[bytes]:
    numbers = {
        "context_length": n_ctx,
        "embedding_length": shape.width,
        "block_count": shape.n_layers,
        "feed_forward_length": shape.feed_forward,
        "attention.head_count": max(1, shape.width // HEAD_WIDTH),
        "vocab_size": N_VOCAB,
    }
    texts = {"general.architecture": "llama", "tokenizer.ggml.model": "none"}
    return [
        *(_text(key) + struct.pack("<I", _STRING) + _text(text) for key, text in texts.items()),
        *(_text(f"llama.{key}") + struct.pack("<II", _UINT32, number) for key, number in numbers.items()),
        _text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", _FLOAT32, 1e-5),
    ]


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data
