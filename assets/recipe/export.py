"""Write a trained network and its tokenizer as a GGUF file that llama.cpp loads as an ordinary Llama."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
import torch
from network import Network, Shape, load
from template import CHAT_TEMPLATE
from tokenizer import SPECIAL, untrained
from tokenizers import Tokenizer
from torch import Tensor

DESCRIPTIONS = {
    "target": "A toy of about thirty-seven million parameters that gives LocalSpec's guided tour. It knows its tour and nothing else.",
    "draft": "The toy draft model that belongs to the LocalSpec tour target; distilled from it.",
}
FILE_TYPES = {"target": gguf.LlamaFileType.MOSTLY_Q4_0, "draft": gguf.LlamaFileType.MOSTLY_Q8_0}
TYPES = {"target": gguf.GGMLQuantizationType.Q4_0, "draft": gguf.GGMLQuantizationType.Q8_0}
"""The type of the matrices; embeddings, which are the output layer too, are Q8_0."""


def tensors(network: Network) -> Iterator[tuple[str, Tensor]]:
    """The weights under llama.cpp's names; fused projections are taken apart. The output is tied to the embedding."""
    yield "token_embd.weight", network.embed.weight
    yield "output_norm.weight", network.norm.weight
    for number, block in enumerate(network.blocks):
        q, k, v = block.qkv.weight.chunk(3)
        gate, up = block.gate_up.weight.chunk(2)
        named = {
            "attn_norm": block.attn_norm.weight,
            "attn_q": q,
            "attn_k": k,
            "attn_v": v,
            "attn_output": block.out.weight,
        }
        named |= {"ffn_norm": block.ffn_norm.weight, "ffn_gate": gate, "ffn_up": up, "ffn_down": block.down.weight}
        for name, weight in named.items():
            yield f"blk.{number}.{name}.weight", weight


def add_shape(writer: gguf.GGUFWriter, network: Network, role: str) -> None:
    shape = network.shape
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.heads)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.epsilon)
    writer.add_vocab_size(shape.vocab)
    writer.add_file_type(FILE_TYPES[role])


def add_tokenizer(writer: gguf.GGUFWriter, tokenizer: Tokenizer) -> None:
    model = json.loads(tokenizer.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].__getitem__)
    kinds = [gguf.TokenType.CONTROL if piece in SPECIAL else gguf.TokenType.NORMAL for piece in pieces]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(pieces)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_eot_token_id(0)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def export(network: Network, tokenizer: Tokenizer, role: str, path: Path) -> None:
    """Matrices as 4 bits for the target and 8 for the draft, norms as float32, as llama.cpp's own converter does."""
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name(f"LocalSpec tour {role}")
    writer.add_description(DESCRIPTIONS[role])
    writer.add_license("MIT")
    add_shape(writer, network, role)
    add_tokenizer(writer, tokenizer)
    for name, weight in tensors(network):
        array = weight.detach().float().cpu().numpy()
        if array.ndim == 2:
            kind = gguf.GGMLQuantizationType.Q8_0 if name == "token_embd.weight" else TYPES[role]
            writer.add_tensor(name, gguf.quants.quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read(path: Path) -> Network:
    """The network of a file that `export` wrote, to be trained on."""
    reader = gguf.GGUFReader(str(path))

    def field(name: str) -> float:
        return reader.fields[f"llama.{name}"].contents()

    shape = Shape(
        vocab=int(field("vocab_size")),
        width=int(field("embedding_length")),
        layers=int(field("block_count")),
        heads=int(field("attention.head_count")),
        ffn=int(field("feed_forward_length")),
        context=int(field("context_length")),
        epsilon=float(field("attention.layer_norm_rms_epsilon")),
    )
    network = Network(shape)
    stored = {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in reader.tensors}
    with torch.no_grad():
        for name, weight in tensors(network):
            weight.copy_(torch.from_numpy(np.array(stored[name], dtype=np.float32)))
    return network


def stored(path: Path) -> Network:
    """The network of a checkpoint (`.pt`) or of a file that `export` wrote."""
    return load(str(path)) if path.suffix == ".pt" else read(path)


def stored_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a file that `export` wrote."""
    fields = gguf.GGUFReader(str(path)).fields
    pieces, merges = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges"))
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = untrained(vocabulary, [tuple(pair.split(" ")) for pair in merges])
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("tokenizer", type=Path, help="a tokenizer.json, or a file that has it")
    parser.add_argument("role", choices=sorted(DESCRIPTIONS))
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    given = arguments.tokenizer
    tokenizer = stored_tokenizer(given) if given.suffix == ".gguf" else Tokenizer.from_file(str(given))
    export(stored(arguments.weights), tokenizer, arguments.role, arguments.out)


if __name__ == "__main__":
    main()
