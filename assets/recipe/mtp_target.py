"""Put the built-in target and its MTP layer into one file, in an architecture of llama.cpp that runs such layers.

    python mtp_target.py TARGET.gguf LAYER.gguf OUT.gguf

The architecture is `glm4moe`: the target's layers are its leading dense ones, and its only experts are those of the MTP layer. The text is the
target's own: nothing is computed otherwise but that rotary positions turn the halves of a head instead of neighbours, which a permutation of
rows makes up for. Needs numpy and gguf.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import gguf
import numpy as np

ARCHITECTURE = "glm4moe"


def halves(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows whose rotated pairs are neighbours in each head, moved to where the pairs are its halves; rows may be quantized."""
    return weight.reshape(heads, -1, 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def _number(reader: gguf.GGUFReader, key: str) -> int:
    return int(reader.fields[key].contents())


def add_metadata(writer: gguf.GGUFWriter, target: gguf.GGUFReader, layer: gguf.GGUFReader) -> None:
    """The target's, under the other architecture's names, and the shape of the layer."""
    for name, entry in target.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "llama.block_count"):
            continue
        kind = entry.types[0]
        inner = entry.types[1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name.replace("llama.", f"{ARCHITECTURE}.", 1), entry.contents(), kind, inner)
    layers = _number(target, "llama.block_count")
    head_size = _number(target, "llama.rope.dimension_count")
    writer.add_block_count(layers + 1)
    writer.add_nextn_predict_layers(1)
    writer.add_leading_dense_block_count(layers)
    writer.add_key_length(head_size)
    writer.add_value_length(head_size)
    writer.add_expert_count(1)
    writer.add_expert_used_count(1)
    writer.add_expert_shared_count(1)
    writer.add_expert_weights_norm(True)
    writer.add_expert_feed_forward_length(_number(layer, f"{ARCHITECTURE}.expert_feed_forward_length"))


def combine(target: Path, layer: Path, out: Path) -> None:
    """Write the file; every tensor stays quantized as it is."""
    first, second = gguf.GGUFReader(str(target)), gguf.GGUFReader(str(layer))
    heads = _number(first, "llama.attention.head_count")
    writer = gguf.GGUFWriter(str(out), ARCHITECTURE)
    add_metadata(writer, first, second)
    for tensor in first.tensors:
        turned = tensor.name.endswith(("attn_q.weight", "attn_k.weight"))
        data = halves(tensor.data, heads) if turned else tensor.data
        writer.add_tensor(
            tensor.name.replace("ffn_norm", "post_attention_norm"),
            np.ascontiguousarray(data),
            raw_dtype=tensor.tensor_type,
        )
    for tensor in second.tensors:
        writer.add_tensor(tensor.name, np.ascontiguousarray(tensor.data), raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("target", "layer", "out"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    combine(options.target, options.layer, options.out)
    print(f"{options.out} {options.out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
