"""Writes GGUF files of tiny models with random weights, one for each way llama.cpp keeps what it has read.

They make no sense of anything, but every token changes every later row, so a memory that is wrong shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import gguf
import numpy as np
from numpy.typing import NDArray

WIDTH, HEADS, HEAD_WIDTH, FF, N_VOCAB = 64, 2, 32, 96, 100
N_CTX_TRAIN = 2048
WINDOW = 16
"""Tokens that a sliding window sees."""

Shape = tuple[int, ...]
Shapes = dict[str, Shape]
Weights: TypeAlias = NDArray[np.float32]


def write_tiny(
    path: Path,
    architecture: str,
    *,
    n_layers: int = 4,
    seed: int = 0,
    spoil: Callable[[str, Weights], None] | None = None,
    part_tensors: int = 0,
    tokenizer: str = "gpt2",
    infills: bool = False,
) -> Path:
    """A model of ``architecture``, one of ``ARCHITECTURES``; ``spoil`` may change a tensor, given its name.

    With ``part_tensors`` it lies in parts of so many tensors, named after ``path``. ``tokenizer`` is what the
    file calls its own. With ``infills`` its control tokens but the first are those for filling a gap.
    """
    writer = gguf.GGUFWriter(path, architecture, split_max_tensors=part_tensors)
    writer.add_name(f"tiny {architecture}")
    writer.add_context_length(N_CTX_TRAIN)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(n_layers)
    writer.add_feed_forward_length(FF)
    writer.add_layer_norm_rms_eps(1e-5)
    describe, shapes = ARCHITECTURES[architecture]
    describe(writer, n_layers)
    add_tokenizer(writer, tokenizer)
    for token, name in enumerate(("pre", "suf", "mid") if infills else (), 1):
        writer.add_uint32(f"tokenizer.ggml.fim_{name}_token_id", token)
    random = np.random.default_rng(seed)
    all_shapes: Shapes = {"token_embd.weight": (N_VOCAB, WIDTH), "output.weight": (N_VOCAB, WIDTH)}
    all_shapes["token_embd_norm.weight" if architecture == "lfm2" else "output_norm.weight"] = (WIDTH,)
    for i in range(n_layers):
        all_shapes |= {f"blk.{i}.{name}": shape for name, shape in shapes(i).items()}
    for name, shape in all_shapes.items():
        values = weights_for(random, name, shape)
        if spoil:
            spoil(name, values)
        writer.add_tensor(name, values)
    finish(writer)
    return path


def finish(writer: gguf.GGUFWriter) -> None:
    """Write the file and close it."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def weights_for(random: np.random.Generator, name: str, shape: Shape) -> Weights:
    """Random weights of the size that suits a tensor of this name."""
    if "norm" in name or name.endswith("ssm_d"):
        values = 1 + 0.1 * random.standard_normal(shape)
    elif name.endswith("ssm_a"):
        values = -random.uniform(0.2, 1.5, shape)  # a state decays, but is felt for some tokens
    elif name == "output.weight":
        values = 0.4 * random.standard_normal(shape)
    else:
        values = 1.5 * random.standard_normal(shape) / np.sqrt(shape[-1])
    return np.asarray(values, np.float32)


def add_tokenizer(writer: gguf.GGUFWriter, kind: str = "gpt2", n_vocab: int = N_VOCAB) -> None:
    """Every printable ASCII character but one, a line's end and a pair; four control tokens in front.

    A vocabulary larger than ``N_VOCAB`` has made-up words at its end, a smaller one lacks its last tokens.
    """
    tokens = [
        "<|end|>",
        "<|system|>",
        "<|user|>",
        "<|assistant|>",
        "Ċ",
        "Ġ",
        *map(chr, range(ord("!"), ord("~"))),
        "th",
        *(f"word{i}" for i in range(n_vocab - N_VOCAB)),
    ][:n_vocab]
    writer.add_tokenizer_model(kind)
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * 4 + [1] * (n_vocab - 4))
    writer.add_token_merges(["t h"] if n_vocab >= N_VOCAB else [])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_add_bos_token(False)


FEED_FORWARD: Shapes = {
    "ffn_norm.weight": (WIDTH,),
    "ffn_gate.weight": (FF, WIDTH),
    "ffn_up.weight": (FF, WIDTH),
    "ffn_down.weight": (WIDTH, FF),
}
ATTENTION: Shapes = {
    "attn_norm.weight": (WIDTH,),
    "attn_q.weight": (HEADS * HEAD_WIDTH, WIDTH),
    "attn_k.weight": (HEADS * HEAD_WIDTH, WIDTH),
    "attn_v.weight": (HEADS * HEAD_WIDTH, WIDTH),
    "attn_output.weight": (WIDTH, HEADS * HEAD_WIDTH),
}
HEAD_NORMS: Shapes = {"attn_q_norm.weight": (HEAD_WIDTH,), "attn_k_norm.weight": (HEAD_WIDTH,)}


def _heads(writer: gguf.GGUFWriter, n_layers: int) -> None:
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)


def _llama(writer: gguf.GGUFWriter, n_layers: int) -> None:
    _heads(writer, n_layers)
    writer.add_rope_dimension_count(HEAD_WIDTH)


def _qwen3(writer: gguf.GGUFWriter, n_layers: int) -> None:
    _llama(writer, n_layers)
    writer.add_key_length(HEAD_WIDTH)
    writer.add_value_length(HEAD_WIDTH)


def _gemma3(writer: gguf.GGUFWriter, n_layers: int) -> None:
    """Every second layer sees a window."""
    _heads(writer, n_layers)
    writer.add_key_length(HEAD_WIDTH)
    writer.add_value_length(HEAD_WIDTH)
    writer.add_sliding_window(WINDOW)
    writer.add_uint32("gemma3.attention.sliding_window_pattern", 2)


def _qwen2vl(writer: gguf.GGUFWriter, n_layers: int) -> None:
    """Positions in a plane."""
    _llama(writer, n_layers)
    writer.add_rope_dimension_sections([6, 5, 5, 0])


_QWEN2VL_BIASES: Shapes = {f"attn_{name}.bias": (HEADS * HEAD_WIDTH,) for name in "qkv"}

_CONV, _INNER, _STATE, _RANK = 4, 2 * WIDTH, 16, 4


def _mamba(writer: gguf.GGUFWriter, n_layers: int) -> None:
    writer.add_head_count(0)
    _ssm(writer)


def _ssm(writer: gguf.GGUFWriter) -> None:
    writer.add_ssm_conv_kernel(_CONV)
    writer.add_ssm_inner_size(_INNER)
    writer.add_ssm_state_size(_STATE)
    writer.add_ssm_time_step_rank(_RANK)


_MAMBA_LAYER: Shapes = {
    "attn_norm.weight": (WIDTH,),
    "ssm_in.weight": (2 * _INNER, WIDTH),
    "ssm_conv1d.weight": (_INNER, _CONV),
    "ssm_conv1d.bias": (_INNER,),
    "ssm_x.weight": (_RANK + 2 * _STATE, _INNER),
    "ssm_dt.weight": (_INNER, _RANK),
    "ssm_dt.bias": (_INNER,),
    "ssm_a": (_INNER, _STATE),
    "ssm_d": (_INNER,),
    "ssm_out.weight": (WIDTH, _INNER),
}


def _jamba(writer: gguf.GGUFWriter, n_layers: int) -> None:
    """Attention in every second layer, Mamba in the others."""
    _ssm(writer)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv([HEADS * (i % 2) for i in range(n_layers)])


def _jamba_layer(i: int) -> Shapes:
    norms: Shapes = {
        "ssm_dt_norm.weight": (_RANK,),
        "ssm_b_norm.weight": (_STATE,),
        "ssm_c_norm.weight": (_STATE,),
    }
    return FEED_FORWARD | (ATTENTION if i % 2 else _MAMBA_LAYER | norms)


_SHORT = 3


def _lfm2(writer: gguf.GGUFWriter, n_layers: int) -> None:
    """Attention in every second layer, a short convolution in the others."""
    writer.add_head_count(HEADS)
    writer.add_head_count_kv([HEADS * (i % 2) for i in range(n_layers)])
    writer.add_shortconv_l_cache(_SHORT)


def _lfm2_layer(i: int) -> Shapes:
    convolution: Shapes = {
        "attn_norm.weight": (WIDTH,),
        "shortconv.conv.weight": (WIDTH, _SHORT),
        "shortconv.in_proj.weight": (3 * WIDTH, WIDTH),
        "shortconv.out_proj.weight": (WIDTH, WIDTH),
    }
    return FEED_FORWARD | (ATTENTION | HEAD_NORMS if i % 2 else convolution)


_GROUPS, _V_HEADS = 2, 4


def _qwen35(writer: gguf.GGUFWriter, n_layers: int) -> None:
    """Attention in every second layer, a gated delta net in the others."""
    _heads(writer, n_layers)
    writer.add_key_length(HEAD_WIDTH)
    writer.add_value_length(HEAD_WIDTH)
    writer.add_rope_dimension_count(HEAD_WIDTH)
    writer.add_rope_dimension_sections([6, 5, 5, 0])
    writer.add_ssm_conv_kernel(_CONV)
    writer.add_ssm_inner_size(_STATE * _V_HEADS)
    writer.add_ssm_state_size(_STATE)
    writer.add_ssm_time_step_rank(_V_HEADS)
    writer.add_ssm_group_count(_GROUPS)
    writer.add_uint32("qwen35.full_attention_interval", 2)


def _qwen35_layer(i: int) -> Shapes:
    feed_forward = {name: shape for name, shape in FEED_FORWARD.items() if name != "ffn_norm.weight"}
    feed_forward["post_attention_norm.weight"] = (WIDTH,)
    if i % 2:
        return feed_forward | ATTENTION | HEAD_NORMS | {"attn_q.weight": (2 * HEADS * HEAD_WIDTH, WIDTH)}
    keys, values = _STATE * _GROUPS, _STATE * _V_HEADS
    return feed_forward | {
        "attn_norm.weight": (WIDTH,),
        "attn_qkv.weight": (2 * keys + values, WIDTH),
        "attn_gate.weight": (values, WIDTH),
        "ssm_conv1d.weight": (2 * keys + values, _CONV),
        "ssm_dt.bias": (_V_HEADS,),
        "ssm_a": (_V_HEADS,),
        "ssm_beta.weight": (_V_HEADS, WIDTH),
        "ssm_alpha.weight": (_V_HEADS, WIDTH),
        "ssm_norm.weight": (_STATE,),
        "ssm_out.weight": (WIDTH, values),
    }


def _falcon_h1(writer: gguf.GGUFWriter, n_layers: int) -> None:
    """Attention and Mamba 2 side by side in every layer."""
    _heads(writer, n_layers)
    writer.add_key_length(HEAD_WIDTH)
    writer.add_value_length(HEAD_WIDTH)
    writer.add_rope_dimension_count(HEAD_WIDTH)
    writer.add_ssm_conv_kernel(_CONV)
    writer.add_ssm_inner_size(WIDTH)
    writer.add_ssm_state_size(_STATE)
    writer.add_ssm_time_step_rank(_V_HEADS)
    writer.add_ssm_group_count(1)


def _falcon_h1_layer(i: int) -> Shapes:
    mixed = WIDTH + 2 * _STATE
    feed_forward = {name: shape for name, shape in FEED_FORWARD.items() if name != "ffn_norm.weight"}
    return (
        ATTENTION
        | feed_forward
        | {
            "ssm_in.weight": (WIDTH + mixed + _V_HEADS, WIDTH),
            "ssm_conv1d.weight": (mixed, _CONV),
            "ssm_conv1d.bias": (mixed,),
            "ssm_dt.bias": (_V_HEADS,),
            "ssm_a": (_V_HEADS, 1),
            "ssm_d": (_V_HEADS, 1),
            "ssm_norm.weight": (1, WIDTH),
            "ssm_out.weight": (WIDTH, WIDTH),
            "ffn_norm": (WIDTH,),
        }
    )


_POST_NORMS: Shapes = {"post_attention_norm.weight": (WIDTH,), "post_ffw_norm.weight": (WIDTH,)}

ARCHITECTURES: Mapping[str, tuple[Callable[[gguf.GGUFWriter, int], None], Callable[[int], Shapes]]] = {
    "llama": (_llama, lambda i: ATTENTION | FEED_FORWARD),
    "qwen3": (_qwen3, lambda i: ATTENTION | HEAD_NORMS | FEED_FORWARD),
    "gemma3": (_gemma3, lambda i: ATTENTION | HEAD_NORMS | FEED_FORWARD | _POST_NORMS),
    "qwen2vl": (_qwen2vl, lambda i: ATTENTION | _QWEN2VL_BIASES | FEED_FORWARD),
    "mamba": (_mamba, lambda i: _MAMBA_LAYER),
    "jamba": (_jamba, _jamba_layer),
    "lfm2": (_lfm2, _lfm2_layer),
    "qwen35": (_qwen35, _qwen35_layer),
    "falcon-h1": (_falcon_h1, _falcon_h1_layer),
}
