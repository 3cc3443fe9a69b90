"""The memory of a model, estimated from its header: weights, cache and compute buffers as llama.cpp allocates them.

Weights and cache are counted layer by layer. The compute buffers are a formula fitted to llama.cpp's reports. A layer
is either on a device or in RAM; the output counts as one more layer after the last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from localspec.gguf import GgufHeader
from localspec.gguf.dimensions import Hyperparameters
from localspec.gguf.draft_heads import DFLASH, DRAFT, DRAFT_TOKENS, EAGLE3, MTP, drafter_kind
from localspec.gguf.tensors import TENSOR_TYPES

BATCH_TOKENS, UNFUSED_BATCH_TOKENS = 512, 128
"""The largest batch, with flash attention and without."""
SHORT_CELLS = 512
"""The cells of the context for short texts."""
CELL_TOKENS = 256
"""llama.cpp rounds a context up to a multiple of this."""

_TYPE_BYTES = {name.lower(): size / elements for name, elements, size in TENSOR_TYPES.values()}
_STATE_COPIES = 2
"""Copies of the recurrent states that the backend keeps to roll back."""
_F32_BYTES, _F16_BYTES = 4, 2
_HIDDEN_ROWS = 2 * BATCH_TOKENS + BATCH_TOKENS
"""Rows of hidden states for a head: those that the backend keeps, and the buffer that llama.cpp gives a batch in."""
BLOCK = re.compile(r"blk\.(\d{1,9})\.")
"""The beginning of the name of a layer's tensor, with the number of the layer."""


@dataclass(frozen=True, slots=True)
class ContextShape:
    """The options that determine the size of a context."""

    n_ctx: int
    type_k: str = "f16"
    type_v: str = "f16"
    flash_attn: bool = True
    short_fused: bool = False
    """True if short texts have a context of their own, with flash attention, where the model takes one."""
    swa_full: bool = True
    """True if layers with a sliding window cache the whole context."""
    snapshots: int = 0
    """Earlier recurrent states that are kept."""
    max_outputs: int = 1
    batch_tokens: int = BATCH_TOKENS
    """The most tokens that are evaluated at once; without flash attention there is another limit."""
    mtp: bool = False
    """True if the MTP layers of the model are loaded, which have a context of their own."""
    hidden_layers: int = 0
    """Layers whose states are kept for a head."""


@dataclass(frozen=True, slots=True)
class Share:
    """Bytes in RAM, or on the devices."""

    weights: int
    cache: int
    compute: int

    @property
    def total(self) -> int:
        return self.weights + self.cache + self.compute


@dataclass(frozen=True, slots=True)
class Footprint:
    """The bytes of a loaded model."""

    ram: Share
    device: Share


def footprint(parts: Sequence[GgufHeader], shape: ContextShape, gpu_layers: int = 0) -> Footprint:
    """The memory of a model whose last ``gpu_layers`` layers are on a device; ``parts`` are its headers."""
    model = Hyperparameters(parts[0])
    first_on_device = max(0, model.n_layers + 1 - gpu_layers)
    weights = layer_weights(parts, model.n_layers)
    shapes = _contexts(parts[0], model, shape)
    caches = [sum(cache_bytes(model, layer, each) for each in shapes) for layer in range(model.n_layers)]
    kind, trunk = drafter_kind(parts[0]), model.n_layers - model.n_mtp
    if kind == MTP:
        caches[:trunk] = [0] * trunk
    elif not shape.mtp:
        weights.layers[trunk : model.n_layers] = caches[trunk:] = [0] * model.n_mtp
    computed = sum(_all_compute_bytes(parts[0], model, each) for each in shapes)
    outputs = shape.max_outputs * model.n_vocab * _F32_BYTES
    outputs += shape.hidden_layers * _HIDDEN_ROWS * model.width * _F32_BYTES
    copies = _STATE_COPIES * sum(map(model.state_width, range(model.n_layers))) * _F32_BYTES
    all_on_device = first_on_device == 0
    return Footprint(
        Share(
            weights.embedding + sum(weights.layers[:first_on_device]),
            sum(caches[:first_on_device]),
            outputs + copies + (mask_bytes(model, shape) if all_on_device else computed),
        ),
        Share(
            sum(weights.layers[first_on_device:]) + (weights.tied_output if gpu_layers else 0),
            sum(caches[first_on_device:]),
            computed if gpu_layers else 0,
        ),
    )


def _contexts(header: GgufHeader, model: Hyperparameters, shape: ContextShape) -> list[ContextShape]:
    """The shapes of the contexts that evaluate the model itself."""
    if not shape.short_fused or drafter_kind(header) != DRAFT or model.has_states or 0 < model.window < SHORT_CELLS:
        return [shape]
    batch = min(shape.batch_tokens, UNFUSED_BATCH_TOKENS)
    return [shape, replace(shape, n_ctx=SHORT_CELLS, flash_attn=True, batch_tokens=batch, mtp=False)]


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Bytes of weights: of the embedding, and of every layer, the output last."""

    embedding: int
    layers: list[int]
    tied_output: int
    """Bytes of a second copy of the embedding on a device, where it is also the output."""


def layer_weights(parts: Sequence[GgufHeader], n_layers: int) -> LayerWeights:
    """The weights of all files of a model, by layer."""
    embedding, layers, tied = 0, [0] * (n_layers + 1), 0
    tensors = [tensor for part in parts for tensor in part.tensors]
    for tensor in tensors:
        block = BLOCK.match(tensor.name)
        if block:
            layers[min(int(block[1]), n_layers)] += tensor.size_bytes
        elif tensor.name.startswith("output"):
            layers[n_layers] += tensor.size_bytes
        else:
            embedding += tensor.size_bytes
            tied = tensor.size_bytes if tensor.name == "token_embd.weight" else tied
    has_output = any(tensor.name == "output.weight" for tensor in tensors)
    return LayerWeights(embedding, layers, 0 if has_output else tied)


def cache_bytes(model: Hyperparameters, layer: int, shape: ContextShape) -> int:
    """Bytes of one layer's cache for a full context."""
    k, v = model.key_value_widths(layer)
    if v and not shape.flash_attn:
        v = model.widest_value  # transposed ones are as wide in every layer
    cells = _window_cells(model, shape) if model.sees_window(layer) else _cells(shape.n_ctx)
    states = (1 + shape.snapshots) * model.state_width(layer) * _F32_BYTES
    return int(cells * (k * _TYPE_BYTES[shape.type_k] + v * _TYPE_BYTES[shape.type_v])) + states


def _all_compute_bytes(header: GgufHeader, model: Hyperparameters, shape: ContextShape) -> int:
    """Bytes of the compute buffers of all contexts of a file: a head that encodes gives scores for a whole batch."""
    kind = drafter_kind(header)
    if kind == DRAFT and shape.mtp:
        return compute_bytes(model, shape) + compute_bytes(model, replace(shape, max_outputs=1))
    if kind not in (EAGLE3, DFLASH):
        return compute_bytes(model, shape)
    if not any(tensor.name == DRAFT_TOKENS for tensor in header.tensors):
        return compute_bytes(model, replace(shape, max_outputs=_batch(shape)))
    # Scores of all tokens are laid out first, for those that it can propose to be written into.
    return compute_bytes(model, replace(shape, max_outputs=0)) + _batch(shape) * model.n_vocab * _F32_BYTES


def compute_bytes(model: Hyperparameters, shape: ContextShape) -> int:
    """Bytes of the largest buffers alive at once: in a feed-forward layer, in attention, or at the output.

    Without flash attention these include every head's scores of a batch against the whole cache.
    """
    rows = _batch(shape) * _F32_BYTES
    feed_forward = rows * (4 * model.width + 3 * model.feed_forward_width + 3 * model.state_space_width)
    widths = [model.key_value_widths(layer) for layer in range(model.n_layers)]
    k, v = max((k for k, _ in widths), default=0), max((v for _, v in widths), default=0)
    attention = rows * (5 * model.width + k + v)
    if not shape.flash_attn:
        attention += _cells(shape.n_ctx) * model.n_heads * rows
    output = shape.max_outputs * model.n_vocab * _F32_BYTES + rows * model.width
    return mask_bytes(model, shape) + max(feed_forward, attention if k else 0, output)


def mask_bytes(model: Hyperparameters, shape: ContextShape) -> int:
    """Bytes of the attention masks, batch by cells: one for the whole cache, one for windows."""
    layers = range(model.n_layers)
    if not any(model.key_value_widths(layer)[0] for layer in layers):
        return 0
    cells = _cells(shape.n_ctx)
    if any(map(model.sees_window, layers)):
        cells += _window_cells(model, shape)
    return cells * _batch(shape) * (_F16_BYTES if shape.flash_attn else _F32_BYTES)


def _window_cells(model: Hyperparameters, shape: ContextShape) -> int:
    cells = _cells(shape.n_ctx)
    return cells if shape.swa_full else min(cells, _cells(model.window + _batch(shape)))


def _batch(shape: ContextShape) -> int:
    most = BATCH_TOKENS if shape.flash_attn else UNFUSED_BATCH_TOKENS
    return min(most, shape.batch_tokens, shape.n_ctx)


def _cells(n_ctx: int) -> int:
    return -(-n_ctx // CELL_TOKENS) * CELL_TOKENS
