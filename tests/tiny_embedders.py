"""Writes GGUF files of tiny embedding models (BERT) that know which words mean the same.

Attention and feed-forward add nothing, so a text's vector is the mean of its words' vectors, and words of one meaning
have one vector: what is near is known beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np

from tests.tiny_models import finish

MEANINGS = (("car", "automobile"), ("doctor", "physician"), ("sea", "ocean"), ("bread", "loaf"))
WIDTH, FF, N_CTX = 32, 16, 64
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
_POOLING_MEAN = 1


def write_embedder(
    path: Path, *, name: str = "tiny embedder", architecture: str = "bert", meanings: Sequence[Sequence[str]] = MEANINGS
) -> Path:
    """A model in which the words of each meaning are one; all other words are unknown, and weigh little."""
    words = [word for meaning in meanings for word in meaning]
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name(name)
    writer.add_context_length(N_CTX)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(FF)
    writer.add_head_count(2)
    writer.add_layer_norm_eps(1e-5)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType(_POOLING_MEAN))
    writer.add_tokenizer_model("bert")
    writer.add_token_list([*_SPECIAL, *(f"\u2581{word}" for word in words)])
    writer.add_token_types([3] * len(_SPECIAL) + [1] * len(words))
    writer.add_token_type_count(1)
    writer.add_pad_token_id(0)
    writer.add_unk_token_id(1)
    writer.add_bos_token_id(2)
    writer.add_sep_token_id(3)
    for tensor, values in _tensors(meanings).items():
        writer.add_tensor(tensor, values.astype(np.float32))
    finish(writer)
    return path


def _tensors(meanings: Sequence[Sequence[str]]) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    one, nothing = np.ones(WIDTH), np.zeros(WIDTH)
    rows = [0.01 * np.eye(WIDTH)[n] for n in range(len(_SPECIAL))]
    rows += [np.eye(WIDTH)[len(_SPECIAL) + n] for n, meaning in enumerate(meanings) for _ in meaning]
    tensors = {
        "token_embd.weight": np.array(rows),
        "token_types.weight": np.zeros((1, WIDTH)),
        "position_embd.weight": np.zeros((N_CTX, WIDTH)),
        "token_embd_norm.weight": one,
        "token_embd_norm.bias": nothing,
        "blk.0.attn_output.weight": np.zeros((WIDTH, WIDTH)),
        "blk.0.ffn_up.weight": np.zeros((FF, WIDTH)),
        "blk.0.ffn_up.bias": np.zeros(FF),
        "blk.0.ffn_down.weight": np.zeros((WIDTH, FF)),
        "blk.0.ffn_down.bias": nothing,
    }
    for part in "qkv":
        tensors[f"blk.0.attn_{part}.weight"] = np.zeros((WIDTH, WIDTH))
        tensors[f"blk.0.attn_{part}.bias"] = nothing
    for norm in ("attn_output_norm", "layer_output_norm"):
        tensors |= {f"blk.0.{norm}.weight": one, f"blk.0.{norm}.bias": nothing}
    return tensors
