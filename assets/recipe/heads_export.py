"""Write a trained head as a GGUF file that llama.cpp loads beside its target.

    python heads_export.py HEAD.pt TARGET.gguf OUT.gguf [--type q4_0]

The tokenizer is copied from the target, whose hash is kept in `localspec.target_sha256`. An MTP layer is written with the names that it has in
a model of the architecture `glm4moe`; `mtp_target.py` puts it into one.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType, quants
from heads import KINDS, DFlash, Eagle3, Head, HeadShape, Layer, Mtp, load
from mtp_target import halves

NAMES = {"eagle3": "EAGLE-3 head", "mtp": "MTP layer", "dflash": "DFlash head"}
ARCHITECTURES = {"eagle3": "eagle3", "mtp": "glm4moe", "dflash": "dflash"}
CONSTANT = ("ffn_gate_inp.weight", "exp_probs_b.bias")
"""Tensors of an MTP layer that are no weights: its only expert is always chosen."""
Named = Iterator[tuple[str, np.ndarray]]


def tensors(head: Head, target_layers: int) -> Named:
    """The weights under llama.cpp's names."""
    state = {name: weight.detach().float().cpu().numpy() for name, weight in head.state_dict().items()}
    yield from {Eagle3: _eagle3, Mtp: _mtp, DFlash: _dflash}[type(head)](head, state, target_layers)


def _eagle3(head: Head, state: dict[str, np.ndarray], target_layers: int) -> Named:
    yield "fc.weight", state["fc.weight"]
    yield "output_norm.weight", state["norm.weight"]
    yield "blk.0.attn_norm.weight", state["token_norm.weight"]
    yield "blk.0.attn_norm_2.weight", state["hidden_norm.weight"]
    for name, weight in _layer(head.blocks[0], head.shape):
        yield f"blk.0.{name}.weight", weight


def _dflash(head: Head, state: dict[str, np.ndarray], target_layers: int) -> Named:
    yield "fc.weight", state["fc.weight"]
    yield "enc.output_norm.weight", state["states_norm.weight"]
    yield "output_norm.weight", state["norm.weight"]
    for number, block in enumerate(head.blocks):
        yield f"blk.{number}.attn_norm.weight", state[f"attn_norms.{number}.weight"]
        for part in "qk":
            yield f"blk.{number}.attn_{part}_norm.weight", halves(state[f"{part}_norms.{number}.weight"], 1)
        for name, weight in _layer(block, head.shape, turned=True):
            yield f"blk.{number}.{name}.weight", weight


def _mtp(head: Head, state: dict[str, np.ndarray], target_layers: int) -> Named:
    """The feed-forward is an expert that is always chosen and a shared one, each with a half of it."""
    prefix = f"blk.{target_layers}"
    own = {"eh_proj": "project", "enorm": "token_norm", "hnorm": "hidden_norm", "shared_head_norm": "norm"}
    for name, ours in own.items():
        yield f"{prefix}.nextn.{name}.weight", state[f"{ours}.weight"]
    yield f"{prefix}.attn_norm.weight", state["attn_norm.weight"]
    for name, weight in _layer(head.blocks[0], head.shape, turned=True):
        if name == "ffn_norm":
            yield f"{prefix}.post_attention_norm.weight", weight
        elif not name.startswith("ffn_"):
            yield f"{prefix}.{name}.weight", weight
        else:
            chosen, shared = np.split(weight, 2, axis=1 if name == "ffn_down" else 0)
            yield f"{prefix}.{name}_exps.weight", chosen[None]
            yield f"{prefix}.{name}_shexp.weight", shared
    yield f"{prefix}.ffn_gate_inp.weight", np.zeros((1, head.shape.width), np.float32)
    yield f"{prefix}.exp_probs_b.bias", np.zeros(1, np.float32)


def _layer(block: Layer, shape: HeadShape, turned: bool = False) -> Named:
    """The matrices of a layer; ``turned`` where llama.cpp rotates the halves of a head, not neighbours."""
    q, k, v = block.qkv.weight.detach().float().cpu().numpy().reshape(3, shape.width, -1)
    gate, up = block.gate_up.weight.detach().float().cpu().numpy().reshape(2, shape.ffn, -1)
    yield "attn_q", halves(q, shape.heads) if turned else q
    yield "attn_k", halves(k, shape.heads) if turned else k
    yield "attn_v", v
    named = {"attn_output": block.out, "ffn_norm": block.ffn_norm, "ffn_down": block.down}
    yield from ((name, layer.weight.detach().float().cpu().numpy()) for name, layer in named.items())
    yield "ffn_gate", gate
    yield "ffn_up", up


def add_metadata(writer: gguf.GGUFWriter, shape: HeadShape, target: Path) -> None:
    """The head's shape under llama.cpp's keys; those of EAGLE-3 and DFlash are spelled out, for the released `gguf` does not know them."""
    writer.add_name(f"LocalSpec tour {NAMES[shape.kind]}")
    writer.add_description("It proposes tokens for the LocalSpec tour target and is of no use without it.")
    writer.add_license("MIT")
    writer.add_string("localspec.target_sha256", hashlib.sha256(target.read_bytes()).hexdigest())
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.epsilon)
    writer.add_vocab_size(shape.vocab)
    if shape.kind == "mtp":
        writer.add_expert_feed_forward_length(shape.ffn // 2)
        return
    writer.add_array(f"{shape.kind}.target_layers", list(shape.target_layers))
    if shape.kind == "eagle3":
        writer.add_uint32("eagle3.target_hidden_size", shape.width)
        writer.add_bool("eagle3.norm_before_residual", False)
    else:
        writer.add_uint32("dflash.block_size", shape.block)
        writer.add_mask_token_id(shape.mask)


def add_tokenizer(writer: gguf.GGUFWriter, target: gguf.GGUFReader) -> None:
    """The target's tokenizer, without the chat template."""
    for name, entry in target.fields.items():
        if name.startswith("tokenizer.ggml."):
            kind = entry.types[0]
            writer.add_key_value(
                name, entry.contents(), kind, entry.types[1] if kind == gguf.GGUFValueType.ARRAY else None
            )


def export_head(
    weights: Path, target: Path, out: Path, quantization: GGMLQuantizationType = GGMLQuantizationType.Q4_0
) -> None:
    """Norms and single rows as float32, matrices quantized."""
    head = load(str(weights))
    reader = gguf.GGUFReader(str(target))
    layers = int(reader.fields["llama.block_count"].contents())
    writer = gguf.GGUFWriter(str(out), ARCHITECTURES[head.shape.kind])
    add_metadata(writer, head.shape, target)
    add_tokenizer(writer, reader)
    for name, weight in tensors(head, layers):
        kind = quantization if weight.ndim > 1 and weight.shape[-2] > 1 else GGMLQuantizationType.F32
        writer.add_tensor(name, quants.quantize(np.ascontiguousarray(weight), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read(path: Path) -> Head:
    """The head of a file that `export_head` wrote, to be trained on."""
    reader = gguf.GGUFReader(str(path))
    shape = _stored_shape(reader)
    head = KINDS[shape.kind](shape)
    stored = {tensor.name: quants.dequantize(tensor.data, tensor.tensor_type) for tensor in reader.tensors}
    first = next(int(name.split(".")[1]) for name in stored if name.startswith("blk."))
    count = sum(weight.numel() for weight in head.parameters())
    _fill(head, torch.arange(count))  # exact as float32: heads have fewer than 2**24 weights
    flat = torch.zeros(count)
    for name, indices in tensors(head, first):
        if not name.endswith(CONSTANT):
            flat[indices.astype(np.int64).ravel()] = torch.from_numpy(stored[name].ravel())
    _fill(head, flat)
    return head


def _stored_shape(reader: gguf.GGUFReader) -> HeadShape:
    architecture = reader.fields["general.architecture"].contents()
    kind = next(kind for kind, name in ARCHITECTURES.items() if name == architecture)

    def field(name: str, default: object = None) -> object:
        found = reader.fields.get(f"{architecture}.{name}")
        return found.contents() if found else default

    return HeadShape(
        kind=kind,
        vocab=field("vocab_size"),
        width=field("embedding_length"),
        heads=field("attention.head_count"),
        ffn=field("feed_forward_length"),
        context=field("context_length"),
        epsilon=field("attention.layer_norm_rms_epsilon"),
        rope_base=field("rope.freq_base"),
        layers=field("block_count"),
        target_layers=tuple(field("target_layers", ())),
        block=field("block_size", 0),
        mask=reader.fields["tokenizer.ggml.mask_token_id"].contents() if kind == "dflash" else 0,
    )


def _fill(head: Head, flat: torch.Tensor) -> None:
    """Give the head's weights these values, one weight after the other."""
    parameters = list(head.parameters())
    with torch.no_grad():
        for weight, values in zip(parameters, flat.split([each.numel() for each in parameters]), strict=True):
            weight.copy_(values.view_as(weight))


def stored_head(folder: Path, kind: str) -> Head:
    """The head of a checkpoint in a folder, or of the file that was made of it."""
    weights = folder / f"{kind}.pt"
    return load(str(weights)) if weights.exists() else read(folder / f"builtin-{kind}.gguf")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("head", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--type", choices=("f16", "q8_0", "q5_0", "q4_0"), default="q4_0")
    options = parser.parse_args()
    export_head(options.head, options.target, options.out, GGMLQuantizationType[options.type.upper()])
    print(f"{options.out} {options.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
