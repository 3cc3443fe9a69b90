"""Make bench pairs with the vocabulary of real models: the built-in pair's function at their cost, up to 8 G parameters.

    python bench_gpu.py --out DIR [--only target-1b draft-0.1b]

As bench_pair.py, heads for both targets included, with two differences. The files are written at once with the types
of llama-quantize's Q4_0, for nearly all rows are zeros, which need no quantizing. And tokens that are never said fill
the vocabulary: one dimension of the residual stream that the small network does not use holds a constant, and what
stands there in the rows of these tokens keeps their scores far below all others. Needs numpy, gguf and
llama-cpp-python.
"""

from __future__ import annotations

import argparse
import ctypes
import math
from collections.abc import Iterator
from pathlib import Path

import gguf
import llama_cpp.llama_cpp as c
import numpy as np
from bench_pair import Large, Small, overrides, padded, source_of
from bench_pair import tensors as embedded
from gguf import GGMLQuantizationType, quants

VOCABULARY = 151_936
"""Qwen's."""
_EAGLE3_TOKENS = 32_768
"""The tokens that an EAGLE-3 head proposes, as published heads have."""
SHAPES = {
    "target-8b": Large(4096, 32, 14336),
    "target-1b": Large(1536, 28, 8960),
    "draft-0.5b": Large(896, 24, 4864),
    "draft-0.1b": Large(768, 12, 2304),
    "eagle3-8b": Large(4096, 1, 14336),
    "dflash-8b": Large(4096, 5, 14336),
    "mtp-8b": Large(4096, 32, 14336),
    "eagle3-1b": Large(1536, 1, 8960),
    "dflash-1b": Large(1536, 5, 8960),
    "mtp-1b": Large(1536, 28, 8960),
}
_CONSTANT, _NEVER = 0.05, -20_000.0
"""In the unused dimension: of every token that is read, and of those that are never said."""
_UNUSED_TYPE = 5
_NORMS_OF_CONSTANT = ("output_norm.weight", "nextn.hnorm.weight", "nextn.shared_head_norm.weight")
_INPUTS_OF_HEADS = ("fc.weight", "nextn.eh_proj.weight")
"""What the constant passes on its way to the output, beside the residual stream; DFlash begins with embeddings."""


def quantized(weight: np.ndarray) -> np.ndarray:
    """The blocks of a matrix; rows of zeros, which are nearly all, are not looked at."""
    rows = weight.reshape(-1, weight.shape[-1])
    blocks = np.repeat(_blocks(np.zeros((1, rows.shape[1]))), len(rows), axis=0)
    filled = np.flatnonzero(rows.any(axis=1))
    blocks[filled] = _blocks(rows[filled])
    return blocks.reshape(*weight.shape[:-1], -1)


def _blocks(rows: np.ndarray) -> np.ndarray:
    return quants.quantize(np.ascontiguousarray(rows, dtype=np.float32), GGMLQuantizationType.Q4_0)


def embeddings(small: np.ndarray, width: int) -> np.ndarray:
    """The blocks of the embeddings, with the tokens that are never said."""
    said, never = padded(small.astype(np.float32), (len(small), width)), np.zeros((1, width), np.float32)
    said[:, -1], never[0, -1] = _CONSTANT, _NEVER
    never_blocks = np.repeat(_output_blocks(never), VOCABULARY - len(small), axis=0)
    return np.concatenate((_output_blocks(said), never_blocks))


def output_type(width: int) -> GGMLQuantizationType:
    """The type that llama-quantize gives embeddings that are the output weights, too."""
    return GGMLQuantizationType.Q8_0 if width % 256 else GGMLQuantizationType.Q6_K


def _output_blocks(rows: np.ndarray) -> np.ndarray:
    kind = output_type(rows.shape[1])
    if kind is GGMLQuantizationType.Q8_0:
        return quants.quantize(rows, kind)
    quantize = c._lib.ggml_quantize_chunk  # the gguf package cannot write Q6_K
    quantize.restype, quantize.argtypes = (
        ctypes.c_size_t,
        [ctypes.c_int, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3, ctypes.c_void_p],
    )
    blocks = np.empty((len(rows), rows.shape[1] // 256 * 210), np.uint8)
    quantize(kind, rows.ctypes.data, blocks.ctypes.data, 0, len(rows), rows.shape[1], None)
    return blocks


def tensors(small: Small, large: Large) -> Iterator[tuple[str, np.ndarray]]:
    """All weights of the large network: vectors as they are, matrices as blocks."""
    for name, weight in embedded(small, large):
        if name == "token_embd.weight":
            yield name, embeddings(small.weights[name], large.width)
            continue
        kind = name.split(".", 2)[2] if name.startswith("blk.") else name
        if kind in _NORMS_OF_CONSTANT:
            weight[-1] = math.sqrt(small.width / large.width)
        elif kind in _INPUTS_OF_HEADS and small.architecture != "dflash":
            weight[-1, -1] = 1
        yield name, weight if weight.ndim == 1 else quantized(weight)


def write(source: Path, large: Large, out: Path) -> None:
    """One file."""
    small = Small(source)
    writer = gguf.GGUFWriter(str(out), small.architecture)
    changed = overrides(small, large)
    for name, entry in small.reader.fields.items():
        if name.startswith(("GGUF.", "localspec.")) or name == "general.architecture":
            continue
        kind, value = entry.types[0], changed.get(name, entry.contents())
        if name == "tokenizer.ggml.tokens":
            value = [*value, *(f"<|unused{n}|>" for n in range(VOCABULARY - len(value)))]
        elif name == "tokenizer.ggml.token_type":
            value = value + [_UNUSED_TYPE] * (VOCABULARY - len(value))
        elif name == f"{small.architecture}.vocab_size":
            value = VOCABULARY
        writer.add_key_value(name, value, kind, entry.types[1] if kind == gguf.GGUFValueType.ARRAY else None)
    for name, weight in tensors(small, large):
        of_matrix = output_type(large.width) if name == "token_embd.weight" else GGMLQuantizationType.Q4_0
        writer.add_tensor(name, weight, raw_dtype=of_matrix if weight.ndim > 1 else None)
    if small.architecture == "eagle3":
        rows = embeddings(Small(source_of("target", out.parent)).weights["token_embd.weight"], large.width)
        writer.add_tensor("output.weight", rows[:_EAGLE3_TOKENS], raw_dtype=output_type(large.width))
        writer.add_tensor("d2t", np.arange(_EAGLE3_TOKENS))
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
        write(source_of(name.partition("-")[0], options.out), SHAPES[name], path)
        print(f"{path} {path.stat().st_size / 1e6:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
