"""Make bench pairs for a GPU: the built-in pair's function at the cost, and with the vocabulary, of large real models.

    python bench_gpu.py --out DIR

As bench_pair.py, with two differences. The files are written as Q4_0 at once, for nearly all rows are zeros, which need
no quantizing. And tokens that are never said fill the vocabulary: one dimension of the residual stream that the small
network does not use holds a constant, and what stands there in the rows of these tokens keeps their scores far below all
others. Needs numpy, gguf and llama-cpp-python.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
from bench_pair import ASSETS, Large, Small, overrides, padded
from gguf import GGMLQuantizationType, quants

VOCABULARY = 151_936
"""Qwen's."""
SHAPES = {
    "target-8b": Large(4096, 32, 14336),
    "target-1b": Large(1536, 28, 8960),
    "draft-0.5b": Large(896, 24, 4864),
    "draft-0.1b": Large(768, 12, 2304),
}
_CONSTANT, _NEVER = 0.05, -20_000.0
"""In the unused dimension: of every token that is read, and of those that are never said."""
_UNUSED_TYPE = 5


def shapes(large: Large, vocabulary: int) -> dict[str, tuple[int, ...]]:
    """Every kind of tensor, as rows and columns."""
    square, up, down = (large.width, large.width), (large.ffn, large.width), (large.width, large.ffn)
    attention = {f"attn_{part}.weight": square for part in ("q", "k", "v", "output")}
    feed_forward = {"ffn_gate.weight": up, "ffn_up.weight": up, "ffn_down.weight": down}
    norms = dict.fromkeys(("attn_norm.weight", "ffn_norm.weight", "output_norm.weight"), (large.width,))
    return {"token_embd.weight": (vocabulary, large.width), **attention, **feed_forward, **norms}


def quantized(weight: np.ndarray) -> np.ndarray:
    """The blocks of a matrix."""
    return quants.quantize(np.ascontiguousarray(weight, dtype=np.float32), GGMLQuantizationType.Q4_0)


def zeros(shape: tuple[int, ...]) -> np.ndarray:
    """The blocks of a matrix of zeros."""
    return np.repeat(quantized(np.zeros((1, shape[1]))), shape[0], axis=0)


def embeddings(small: np.ndarray, width: int) -> np.ndarray:
    """The blocks of the embeddings, with the tokens that are never said."""
    said, never = padded(small.astype(np.float32), (len(small), width)), np.zeros((1, width))
    said[:, -1], never[0, -1] = _CONSTANT, _NEVER
    return np.concatenate((quantized(said), np.repeat(quantized(never), VOCABULARY - len(small), axis=0)))


def norm(name: str, small: Small, large: Large) -> np.ndarray:
    """The weights of an RMSNorm; the last one lets the constant through."""
    scale = np.float32(math.sqrt(small.width / large.width))
    weight = padded(small.weights.get(name, np.zeros(0, np.float32)) * scale, (large.width,))
    if name == "output_norm.weight":
        weight[-1] = scale
    return weight


def tensors(small: Small, large: Large) -> Iterator[tuple[str, np.ndarray]]:
    """All weights of the large network: vectors as they are, matrices as blocks."""
    shape_of = shapes(large, VOCABULARY)
    layered = [name for name in shape_of if name not in ("token_embd.weight", "output_norm.weight")]
    empty: dict[tuple[int, ...], np.ndarray] = {}
    yield "token_embd.weight", embeddings(small.weights["token_embd.weight"], large.width)
    yield "output_norm.weight", norm("output_norm.weight", small, large)
    for name in (f"blk.{n}.{name}" for n in range(large.layers) for name in layered):
        shape, weight = shape_of[name.split(".", 2)[2]], small.weights.get(name)
        if len(shape) == 1:
            yield name, norm(name, small, large)
            continue
        blocks = empty[shape] if shape in empty else empty.setdefault(shape, zeros(shape))
        if weight is not None:
            blocks = blocks.copy()
            blocks[: len(weight)] = quantized(padded(weight.astype(np.float32), (len(weight), shape[1])))
        yield name, blocks


def write(source: Path, large: Large, out: Path) -> None:
    """One file."""
    small, writer = Small(source), gguf.GGUFWriter(str(out), "llama")
    changed = overrides(small, large)
    for name, entry in small.reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        kind, value = entry.types[0], changed.get(name, entry.contents())
        if name == "tokenizer.ggml.tokens":
            value = [*value, *(f"<|unused{n}|>" for n in range(VOCABULARY - len(value)))]
        elif name == "tokenizer.ggml.token_type":
            value = value + [_UNUSED_TYPE] * (VOCABULARY - len(value))
        elif name == "llama.vocab_size":
            value = VOCABULARY
        writer.add_key_value(name, value, kind, entry.types[1] if kind == gguf.GGUFValueType.ARRAY else None)
    for name, weight in tensors(small, large):
        writer.add_tensor(name, weight, raw_dtype=GGMLQuantizationType.Q4_0 if weight.ndim > 1 else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=SHAPES, default=list(SHAPES))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        path = options.out / f"bench-{name}.gguf"
        write(ASSETS / f"builtin-{name.partition('-')[0]}.gguf", SHAPES[name], path)
        print(f"{path} {path.stat().st_size / 1e6:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
