"""Writes GGUF files of tiny draft heads with random weights, and of the targets that they read hidden states from.

Each kind is there in a good form and, by its fields, in the bad forms that have to be refused: another width, another
vocabulary, layers that the target lacks, a part vocabulary out of range, tensors that are missing. ``cut_short`` makes
a file that ends too early.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np

from tests.tiny_models import (
    ARCHITECTURES,
    ATTENTION,
    FEED_FORWARD,
    FF,
    HEAD_NORMS,
    HEAD_WIDTH,
    HEADS,
    N_CTX_TRAIN,
    N_VOCAB,
    WIDTH,
    WINDOW,
    Shapes,
    Weights,
    add_tokenizer,
    finish,
    weights_for,
)

TARGET_LAYERS = (1, 2, 3)
FAVOURED = (40, 55, 70, 85)
MASK_TOKEN = N_VOCAB - 1
_EXPERTS, _EXPERT_FF = 2, 32
_ASSISTANT_WIDTH = 48


def favour_few(name: str, values: Weights) -> None:
    """Leave only ``FAVOURED`` tokens likely, so that a random head is right in a quarter of the places.

    A ``spoil`` of ``write_tiny`` and of the functions here.
    """
    if name in ("output.weight", "markov_w2.weight") and len(values) == N_VOCAB:
        others = np.ones(N_VOCAB, dtype=bool)
        others[list(FAVOURED)] = False
        values[others] *= 0.01


@dataclass(frozen=True, slots=True)
class TinyHead:
    """A head for a target of ``write_tiny``: EAGLE-3, DFlash, or with ``markov_rank`` DSpark."""

    architecture: str = "eagle3"
    """``eagle3`` or ``dflash``."""
    width: int = WIDTH
    n_vocab: int = N_VOCAB
    target_layers: Sequence[int] | None = TARGET_LAYERS
    """None leaves the key out."""
    target_hidden_size: int = WIDTH
    part: Sequence[int] | None = None
    """The target's tokens that the head can propose, ascending (``d2t``); None for all. Needs ``own_output``."""
    own_output: bool = False
    """With an output of its own; without, it uses the target's."""
    own_embedding: bool = False
    block_size: int | None = 8
    """Tokens of a DFlash block, the last token of the text included. None leaves the key out."""
    mask_token: int | None = MASK_TOKEN
    sample_from_anchor: bool | None = None
    """False for a DSpark head whose first row proposes nothing; None leaves the key out, which means True."""
    markov_rank: int = 0
    confidence: bool = False
    n_layers: int = 1
    rope_sections: Sequence[int] | None = None
    """For a target with multimodal positions, whose drafts have them too."""
    seed: int = 1


def write_head(path: Path, head: TinyHead) -> Path:
    """Write the file of ``head``."""
    writer = gguf.GGUFWriter(path, head.architecture)
    _describe(writer, head)
    add_tokenizer(writer, n_vocab=head.n_vocab)
    random = np.random.default_rng(head.seed)
    if head.part is not None:
        writer.add_tensor("d2t", np.array(head.part, np.int64), raw_dtype=gguf.GGMLQuantizationType.I64)
    for name, shape in _shapes(head).items():
        values = weights_for(random, name, shape)
        favour_few(name, values)
        writer.add_tensor(name, values)
    finish(writer)
    return path


def write_mtp_target(
    path: Path, architecture: str = "glm4moe", *, n_layers: int = 3, with_tensors: bool = True, seed: int = 0
) -> Path:
    """A target with one MTP layer after ``n_layers`` of its own: ``glm4moe``, or ``qwen35``, a hybrid.

    Without tensors it names the layer and lacks it, as files do that were made without MTP.
    """
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name(f"tiny {architecture} with MTP")
    _dimensions(writer, n_layers + 1, WIDTH)
    writer.add_nextn_predict_layers(1)
    if architecture == "glm4moe":
        _describe_experts(writer, n_layers)
    else:
        ARCHITECTURES[architecture][0](writer, n_layers)
    add_tokenizer(writer)
    random = np.random.default_rng(seed)
    for name, shape in _mtp_shapes(architecture, n_layers, with_tensors=with_tensors).items():
        values = weights_for(random, name, shape)
        favour_few(name, values)
        writer.add_tensor(name, values)
    finish(writer)
    return path


def write_step35_target(path: Path) -> Path:
    """A target with two MTP layers after three of its own, each trained for one step of a draft."""
    writer = gguf.GGUFWriter(path, "step35")
    writer.add_name("tiny step35 with MTP")
    _dimensions(writer, 5, WIDTH)
    writer.add_nextn_predict_layers(2)
    writer.add_head_count([HEADS] * 5)
    writer.add_head_count_kv([HEADS] * 5)
    writer.add_key_length(HEAD_WIDTH)
    writer.add_value_length(HEAD_WIDTH)
    writer.add_rope_dimension_count(HEAD_WIDTH)
    writer.add_expert_feed_forward_length(_EXPERT_FF)
    writer.add_sliding_window(WINDOW)
    writer.add_array("step35.attention.sliding_window_pattern", [True, False] * 2 + [True])
    add_tokenizer(writer)
    shapes: Shapes = {
        "token_embd.weight": (N_VOCAB, WIDTH),
        "output.weight": (N_VOCAB, WIDTH),
        "output_norm.weight": (WIDTH,),
    }
    for i in range(5):
        layer = ATTENTION | FEED_FORWARD | (_NEXTN if i >= 3 else {})
        shapes |= {f"blk.{i}.{name}": shape for name, shape in layer.items()}
    return _written(path, writer, shapes, seed=0)


def write_gemma4_target(path: Path) -> Path:
    """A target whose assistant can be written by ``write_assistant``."""
    writer = _gemma4(path, "gemma4", WIDTH, [True, False] * 2)
    writer.add_uint32("gemma4.embedding_length_per_layer_input", 0)
    shapes: Shapes = {
        "token_embd.weight": (N_VOCAB, WIDTH),
        "output.weight": (N_VOCAB, WIDTH),
        "output_norm.weight": (WIDTH,),
        "rope_freqs.weight": (HEAD_WIDTH // 2,),
    }
    norms: Shapes = {"post_attention_norm.weight": (WIDTH,), "post_ffw_norm.weight": (WIDTH,)}
    for i in range(4):
        shapes |= {f"blk.{i}.{name}": shape for name, shape in (ATTENTION | HEAD_NORMS | FEED_FORWARD | norms).items()}
    return _written(path, writer, shapes, seed=0)


def write_assistant(path: Path) -> Path:
    """MTP layers in a file of their own, which look into the cache of a ``write_gemma4_target``."""
    writer = _gemma4(path, "gemma4-assistant", _ASSISTANT_WIDTH, [True, False])
    writer.add_uint32("gemma4-assistant.embedding_length_out", WIDTH)
    writer.add_uint32("gemma4-assistant.nextn_predict_layers", 2)
    width, own = _ASSISTANT_WIDTH, HEADS * HEAD_WIDTH
    shapes: Shapes = {
        "token_embd.weight": (N_VOCAB, width),
        "output_norm.weight": (width,),
        "rope_freqs.weight": (HEAD_WIDTH // 2,),
        "nextn.pre_projection.weight": (width, 2 * WIDTH),
        "nextn.post_projection.weight": (WIDTH, width),
    }
    layer: Shapes = {
        "attn_norm.weight": (width,),
        "attn_q.weight": (own, width),
        "attn_output.weight": (width, own),
        "attn_q_norm.weight": (HEAD_WIDTH,),
        "post_attention_norm.weight": (width,),
        "layer_output_scale.weight": (1,),
        "ffn_norm.weight": (width,),
        "ffn_gate.weight": (FF, width),
        "ffn_up.weight": (FF, width),
        "ffn_down.weight": (width, FF),
        "post_ffw_norm.weight": (width,),
    }
    for i in range(2):
        shapes |= {f"blk.{i}.{name}": shape for name, shape in layer.items()}
    return _written(path, writer, shapes, seed=1)


def _gemma4(path: Path, architecture: str, width: int, windows: Sequence[bool]) -> gguf.GGUFWriter:
    """A file's metadata, with the layers that see a window."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name(f"tiny {architecture}")
    _dimensions(writer, len(windows), width)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    for key in ("key_length", "value_length", "key_length_swa", "value_length_swa"):
        writer.add_uint32(f"{architecture}.attention.{key}", HEAD_WIDTH)
    writer.add_sliding_window(WINDOW)
    writer.add_array(f"{architecture}.attention.sliding_window_pattern", list(windows))
    writer.add_rope_dimension_count(HEAD_WIDTH)
    add_tokenizer(writer)
    return writer


def _written(path: Path, writer: gguf.GGUFWriter, shapes: Shapes, seed: int) -> Path:
    random = np.random.default_rng(seed)
    for name, shape in shapes.items():
        values = np.ones(shape, np.float32) if name == "rope_freqs.weight" else weights_for(random, name, shape)
        # An assistant scores with its embeddings, and reads those of its target.
        favour_few("output.weight" if seed and name == "token_embd.weight" else name, values)
        writer.add_tensor(name, values)
    finish(writer)
    return path


def cut_short(path: Path, share: float = 0.7) -> Path:
    """Cut the file off after ``share`` of its bytes."""
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    return path


def _dimensions(writer: gguf.GGUFWriter, n_layers: int, width: int) -> None:
    writer.add_context_length(N_CTX_TRAIN)
    writer.add_embedding_length(width)
    writer.add_block_count(n_layers)
    writer.add_feed_forward_length(FF)
    writer.add_layer_norm_rms_eps(1e-5)


def _describe(writer: gguf.GGUFWriter, head: TinyHead) -> None:
    """The metadata of a head. The keys are spelled out: the released ``gguf`` does not know them yet."""
    kind = head.architecture
    writer.add_name(f"tiny {kind}")
    _dimensions(writer, head.n_layers, head.width)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_key_length(HEAD_WIDTH)
    writer.add_value_length(HEAD_WIDTH)
    writer.add_rope_dimension_count(HEAD_WIDTH)
    writer.add_vocab_size(head.n_vocab)
    if head.rope_sections is not None:
        writer.add_rope_dimension_sections(list(head.rope_sections))
    if head.target_layers is not None:
        writer.add_array(f"{kind}.target_layers", list(head.target_layers))
    if kind == "eagle3":
        writer.add_uint32("eagle3.target_hidden_size", head.target_hidden_size)
        return
    if head.block_size is not None:
        writer.add_uint32("dflash.block_size", head.block_size)
    if head.mask_token is not None:
        writer.add_mask_token_id(head.mask_token)
    if head.sample_from_anchor is not None:
        writer.add_bool("dflash.sample_from_anchor", head.sample_from_anchor)
    if head.markov_rank and not head.confidence:
        writer.add_bool("dflash.has_confidence_head", False)


def _shapes(head: TinyHead) -> Shapes:
    width, n_proposed = head.width, head.n_vocab if head.part is None else len(head.part)
    eagle3 = head.architecture == "eagle3"
    layers_n = len(TARGET_LAYERS if head.target_layers is None else head.target_layers)
    features = layers_n * (head.target_hidden_size if eagle3 else width)
    shapes: Shapes = {"fc.weight": (width, features), "output_norm.weight": (width,)}
    if head.own_output:
        shapes["output.weight"] = (n_proposed, width)
    if head.own_embedding:
        shapes["token_embd.weight"] = (head.n_vocab, width)
    if not eagle3:
        shapes["enc.output_norm.weight"] = (width,)
    if head.markov_rank:
        shapes["markov_w1.weight"] = (head.n_vocab, head.markov_rank)
        shapes["markov_w2.weight"] = (n_proposed, head.markov_rank)
    if head.confidence:
        shapes["conf_proj.weight"] = (1, width + head.markov_rank)
    for i in range(head.n_layers):
        shapes |= {f"blk.{i}.{name}": shape for name, shape in _head_layer(width, eagle3=eagle3).items()}
    return shapes


def _head_layer(width: int, *, eagle3: bool) -> Shapes:
    """EAGLE-3's attention reads the token beside the features; DFlash's has norms for queries and keys."""
    inputs, own = (2 * width if eagle3 else width), HEADS * HEAD_WIDTH
    layer: Shapes = {
        "attn_norm.weight": (width,),
        "attn_q.weight": (own, inputs),
        "attn_k.weight": (own, inputs),
        "attn_v.weight": (own, inputs),
        "attn_output.weight": (width, own),
        "ffn_norm.weight": (width,),
        "ffn_gate.weight": (FF, width),
        "ffn_up.weight": (FF, width),
        "ffn_down.weight": (width, FF),
    }
    return layer | ({"attn_norm_2.weight": (width,)} if eagle3 else HEAD_NORMS)


def _describe_experts(writer: gguf.GGUFWriter, n_layers: int) -> None:
    """Experts in the MTP layer alone."""
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_key_length(HEAD_WIDTH)
    writer.add_value_length(HEAD_WIDTH)
    writer.add_rope_dimension_count(HEAD_WIDTH)
    writer.add_leading_dense_block_count(n_layers)
    writer.add_expert_count(_EXPERTS)
    writer.add_expert_used_count(_EXPERTS)
    writer.add_expert_shared_count(1)
    writer.add_expert_feed_forward_length(_EXPERT_FF)


def _mtp_shapes(architecture: str, n_layers: int, *, with_tensors: bool) -> Shapes:
    shapes: Shapes = {
        "token_embd.weight": (N_VOCAB, WIDTH),
        "output_norm.weight": (WIDTH,),
        "output.weight": (N_VOCAB, WIDTH),
    }
    dense = ATTENTION | {name: shape for name, shape in FEED_FORWARD.items() if name != "ffn_norm.weight"}
    dense["post_attention_norm.weight"] = (WIDTH,)
    if architecture == "glm4moe":
        layers = [dense] * n_layers
        mtp = ATTENTION | {"post_attention_norm.weight": (WIDTH,)} | _EXPERT_LAYER
    else:
        layers = [ARCHITECTURES[architecture][1](i) for i in range(n_layers)]
        mtp = ARCHITECTURES[architecture][1](1)  # attention, with the queries' gate
    if with_tensors:
        layers.append(mtp | _NEXTN)
    return shapes | {f"blk.{i}.{name}": shape for i, layer in enumerate(layers) for name, shape in layer.items()}


_EXPERT_LAYER: Shapes = {
    "ffn_gate_inp.weight": (_EXPERTS, WIDTH),
    "exp_probs_b.bias": (_EXPERTS,),
    "ffn_gate_exps.weight": (_EXPERTS, _EXPERT_FF, WIDTH),
    "ffn_up_exps.weight": (_EXPERTS, _EXPERT_FF, WIDTH),
    "ffn_down_exps.weight": (_EXPERTS, WIDTH, _EXPERT_FF),
    "ffn_gate_shexp.weight": (_EXPERT_FF, WIDTH),
    "ffn_up_shexp.weight": (_EXPERT_FF, WIDTH),
    "ffn_down_shexp.weight": (WIDTH, _EXPERT_FF),
}
_NEXTN: Shapes = {
    "nextn.eh_proj.weight": (WIDTH, 2 * WIDTH),
    "nextn.enorm.weight": (WIDTH,),
    "nextn.hnorm.weight": (WIDTH,),
}
