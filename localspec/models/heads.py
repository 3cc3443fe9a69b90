"""The fit of a draft head to its target, and of MTP layers to llama.cpp, judged by headers before anything is loaded.

llama.cpp asserts most of this, and a failed assertion ends the process. The lists of architectures were read from the
source of the build 0c1e570 (llama-cpp-python 0.3.36): ``src/models/*.cpp`` and ``src/llama-graph.cpp``.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

from localspec.base.hidden_architectures import FINAL_ARCHITECTURES, LAYER_ARCHITECTURES, OUTPUT_ARCHITECTURES
from localspec.gguf import GgufHeader
from localspec.gguf.draft_heads import (
    DFLASH,
    DRAFT,
    DRAFT_TOKENS,
    EAGLE3,
    MTP,
    announced_mtp_layers,
    drafter_kind,
    is_dspark,
    mtp_layers,
)
from localspec.gguf.tensors import I64, TensorInfo

_GIVES_LAST = {EAGLE3: LAYER_ARCHITECTURES & FINAL_ARCHITECTURES, DFLASH: OUTPUT_ARCHITECTURES}
"""Targets that also give what comes out of their last layer: EAGLE-3 takes it before the output norm."""
_ONE_MTP_LAYER = {
    *("qwen3next", "qwen35", "qwen35moe", "glm4moe", "glm-dsa", "deepseek2", "deepseek32", "deepseek4"),
    *("bailingmoe3", "cohere2moe", "nemotron_h_moe"),
}
_SEVERAL_MTP_LAYERS = {"step35", "mimo2", "hy_v3"}
_LATENT = {"deepseek2", "deepseek32", "glm-dsa"}
"""Architectures whose MTP layer needs multi-head latent attention."""
_WITH_EXPERTS = _ONE_MTP_LAYER - {"qwen35", "bailingmoe3"}
"""Architectures whose MTP layer needs experts."""
_EAGLE3_LAYERS = 3
_BLOCK_SIZES = range(2, 513)
"""The sizes of a DFlash block: a token and one proposal, up to a batch."""
_DEFAULT_BLOCK_SIZE = 16


def head_misfit(target: GgufHeader, head: GgufHeader) -> str:
    """The reason why a head cannot draft for ``target``, as a clause; empty if it can.

    The texts of tokens are not compared, and the head's list of tokens only where it was read.
    """
    rules = _RULES.get(head.architecture, (_of_same_model,))
    return next((reason for rule in rules if (reason := rule(target, head))), "")


def mtp_fault(parts: Sequence[GgufHeader]) -> str:
    """The reason why the MTP layers in a target cannot be used, as a clause; empty if they can.

    ``parts`` are the headers of all files of the target.
    """
    header = parts[0]
    if not announced_mtp_layers(header):
        return "the target has no MTP layers"
    n = mtp_layers(parts)
    if not n:
        return "the file announces MTP layers and does not have them"
    if header.architecture not in _ONE_MTP_LAYER | _SEVERAL_MTP_LAYERS:
        return f"llama.cpp cannot run the MTP layers of the architecture {header.architecture!r}"
    if n > 1 and header.architecture in _ONE_MTP_LAYER:
        return f"llama.cpp can run one MTP layer of the architecture {header.architecture!r}, and there are {n}"
    if header.architecture in _LATENT and not _number(header, "attention.key_length_mla"):
        return "its MTP layer has no latent attention, which llama.cpp needs"
    lacking = _lacking(parts, range((header.block_count or 0) - n, header.block_count or 0))
    return f"its MTP layer lacks the tensor {lacking}" if lacking else ""


def can_run(drafter: str, architecture: str) -> bool:
    """True if llama.cpp can run a kind of drafter for targets of an architecture."""
    if drafter == MTP:
        return architecture in _ONE_MTP_LAYER | _SEVERAL_MTP_LAYERS | {"gemma4"}
    return drafter == DRAFT or architecture in LAYER_ARCHITECTURES


def file_drafters(target: Sequence[GgufHeader], draft: GgufHeader | None) -> tuple[str, ...]:
    """The kinds of drafters that the files bring: the draft file's, and MTP layers in the target."""
    kinds = [] if draft is None else [drafter_kind(draft)]
    if MTP not in kinds and not mtp_fault(target):
        kinds.append(MTP)
    return tuple(kinds)


def _lacking(parts: Sequence[GgufHeader], layers: range) -> str:
    """The first tensor that llama.cpp asserts in an MTP layer and that is not there; empty if all are."""
    architecture = parts[0].architecture
    needed = ["ffn_gate_inp"] if architecture in _WITH_EXPERTS else []
    needed += ["attn_qkv", "ffn_gate", "ffn_up", "ffn_down"] if architecture == "mimo2" else []
    names = {tensor.name for part in parts for tensor in part.tensors}
    wanted = (f"blk.{layer}.{name}.weight" for layer in layers for name in needed)
    return next((name for name in wanted if name not in names), "")


def _gives_hidden(target: GgufHeader, head: GgufHeader) -> str:
    if target.architecture in LAYER_ARCHITECTURES:
        return ""
    return f"llama.cpp cannot give the hidden states of a target of the architecture {target.architecture!r}"


def _same_width(target: GgufHeader, head: GgufHeader) -> str:
    """EAGLE-3 may be narrower than its target if it has its own embedding and output."""
    ours = _number(target, "embedding_length")
    read = _number(head, "target_hidden_size") if head.architecture == EAGLE3 else _number(head, "embedding_length")
    if read != ours:
        return f"it reads hidden states {read:,} wide, and the target's are {ours:,} wide"
    own = _number(head, "embedding_length")
    if own != ours and not {"token_embd.weight", "output.weight"} <= _tensors(head).keys():
        return f"it is {own:,} wide and uses the embedding or the output of the target, which is {ours:,} wide"
    return ""


def _right_layers(target: GgufHeader, head: GgufHeader) -> str:
    layers = head.metadata.get(f"{head.architecture}.target_layers")
    if not isinstance(layers, array) or layers.typecode in "fd" or not layers:
        return "it does not name the target's layers that it reads"
    if head.architecture == EAGLE3 and len(layers) != _EAGLE3_LAYERS:
        return f"it reads {len(layers)} layers of the target, and an EAGLE-3 head reads {_EAGLE3_LAYERS}"
    n = (target.block_count or 0) - announced_mtp_layers(target)
    wrong = next((int(layer) for layer in layers if not 0 <= layer <= n), None)
    if wrong is not None:
        return f"it reads layer {wrong} of the target, which has {n}"
    if n in layers and target.architecture not in _GIVES_LAST[drafter_kind(head)]:
        return f"it reads what the last layer gives, which llama.cpp cannot take from a {target.architecture!r}"
    return ""


def _same_vocabulary_size(target: GgufHeader, head: GgufHeader) -> str:
    ours, theirs = len(target.vocabulary.tokens), _n_vocab(head)
    return "" if ours == theirs else f"the target knows {ours:,} tokens, the head {theirs:,}"


def _right_draft_tokens(target: GgufHeader, head: GgufHeader) -> str:
    """Check the list of tokens that a head with a part of the vocabulary can propose."""
    tensors = _tensors(head)
    if DRAFT_TOKENS not in tensors:
        return ""
    listed, output = tensors[DRAFT_TOKENS], tensors.get("output.weight")
    n, rows = listed.n_elements, output.shape[-1] if output and output.shape else 0
    if n != rows:
        return f"it lists {n:,} tokens that it can propose, and has outputs for {rows:,}"
    if listed.type_id != I64:
        return "its list of tokens that it can propose does not consist of 64-bit integers"
    tokens, n_vocab = head.draft_tokens or (), len(target.vocabulary.tokens)
    wrong = next((token for token in tokens if not 0 <= token < n_vocab), None)
    if wrong is not None:
        return f"it proposes token {wrong:,}, and the target has {n_vocab:,}"
    return "" if len(set(tokens)) == len(tokens) else "it lists a token twice among those that it can propose"


def _right_rotation(target: GgufHeader, head: GgufHeader) -> str:
    """Check the numbers of a key that are rotated by its position: llama.cpp hangs with 0, and aborts with others."""
    key = f"{head.architecture}.rope.dimension_count"
    width = _number(head, "attention.key_length")
    width = width or _number(head, "embedding_length") // max(1, _number(head, "attention.head_count"))
    n = head.integer(key)
    if n is None or (0 < n <= width and n % 2 == 0):
        return ""
    return f"it rotates {n:,} numbers of keys that are {width:,} wide"


def _one_layer(target: GgufHeader, head: GgufHeader) -> str:
    n = head.block_count or 0
    return "" if n == 1 else f"it has {n} layers, and an EAGLE-3 head has one"


def _right_block(target: GgufHeader, head: GgufHeader) -> str:
    size = head.integer("dflash.block_size")
    if size is None and is_dspark(head):
        return "it does not say how long its blocks are"
    size = _DEFAULT_BLOCK_SIZE if size is None else size
    if size not in _BLOCK_SIZES:
        return f"its blocks have {size:,} tokens; from {_BLOCK_SIZES.start} to {_BLOCK_SIZES.stop - 1} are possible"
    mask = head.integer("tokenizer.ggml.mask_token_id")
    if mask is None:
        return "it does not name the token that stands for a place to be filled"
    n = _n_vocab(head)
    return "" if 0 <= mask < n else f"its mask token is {mask:,}, and it knows {n:,} tokens"


def _not_dflash2(target: GgufHeader, head: GgufHeader) -> str:
    return "it is a DFlash2 head, which LocalSpec cannot run" if "selector_hidden.weight" in _tensors(head) else ""


def _of_gemma4(target: GgufHeader, head: GgufHeader) -> str:
    """The assistant of Gemma 4 attends to the keys and values of its target."""
    if target.architecture != "gemma4":
        return f"it is for a target of the architecture 'gemma4', not {target.architecture!r}"
    ours, theirs = _number(target, "embedding_length"), _number(head, "embedding_length_out")
    if ours != theirs:
        return f"it reads hidden states {theirs:,} wide, and the target's are {ours:,} wide"
    for key in ("attention.key_length", "attention.key_length_swa"):
        ours, theirs = _number(target, key), _number(head, key)
        if ours != theirs:
            return f"it reads keys {theirs:,} wide, and the target's are {ours:,} wide"
    return ""


def _of_same_model(target: GgufHeader, head: GgufHeader) -> str:
    """MTP layers in a file of their own come from the target's own architecture."""
    if target.architecture != head.architecture:
        return f"it is for a target of the architecture {head.architecture!r}, not {target.architecture!r}"
    ours, theirs = _number(target, "embedding_length"), _number(head, "embedding_length")
    if ours != theirs:
        return f"it reads hidden states {theirs:,} wide, and the target's are {ours:,} wide"
    return mtp_fault([head])


_FEATURES = (
    _gives_hidden,
    _same_width,
    _right_layers,
    _same_vocabulary_size,
    _right_draft_tokens,
    _right_rotation,
)
_RULES: dict[str, tuple[Callable[[GgufHeader, GgufHeader], str], ...]] = {
    EAGLE3: (*_FEATURES, _one_layer),
    DFLASH: (*_FEATURES, _not_dflash2, _right_block),
    "gemma4-assistant": (_of_gemma4, _same_vocabulary_size),
}
"""The rules by the head's architecture; heads of another one are MTP layers cut out of their target."""


def _tensors(header: GgufHeader) -> dict[str, TensorInfo]:
    return {tensor.name: tensor for tensor in header.tensors}


def _number(header: GgufHeader, key: str) -> int:
    return header.integer(f"{header.architecture}.{key}") or 0


def _n_vocab(head: GgufHeader) -> int:
    return len(head.vocabulary.tokens) or _number(head, "vocab_size")
