"""The work of writing one token with a model: the weights that are read, by their type, and the cache.

Every weight is read for every token, but the rows of the embedding and the experts that a mixture does not use.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from localspec.gguf import GgufHeader
from localspec.gguf.dimensions import Hyperparameters
from localspec.gguf.tensors import TENSOR_TYPES
from localspec.models.memory_estimate import BLOCK, ContextShape, cache_bytes

_EXPERTS = "_exps."
_EMBEDDING, _OUTPUT = "token_embd.weight", "output.weight"
_LOOKED_UP = (_EMBEDDING, "per_layer_token_embd.weight", "position_embd.weight")
"""Tensors of which a token reads one row."""
_CELLS = 256
"""Tokens of the context by which the bytes of one are counted."""
_TYPICAL_LAYERS = 32
"""The layers of a model of which only the size is known; of little weight where it is large."""
_NAMED_TYPE = re.compile(r"(?<![a-z0-9])(iq[1-4]_[a-z]+|t?q[1-8]_[01k]|mxfp4|bf16|f16|f32)(?![a-z0-9])", re.IGNORECASE)
_NAMED_SHARE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)B-A(\d+(?:\.\d+)?)B(?![a-z0-9])", re.IGNORECASE)
_USUAL_TYPE = "Q4_K"
_TENSOR_NAMES = {name for name, *_ in TENSOR_TYPES.values()}


@dataclass(frozen=True, slots=True)
class TokenWork:
    """The weights and the cache that a token needs."""

    dense: Mapping[str, int]
    """Bytes of weights that every token reads, by the type of the tensor ("Q4_K")."""
    experts: Mapping[str, int] = field(default_factory=dict)
    """Bytes of all experts, by type."""
    expert_share: float = 1.0
    """The share of the experts that a token uses."""
    n_layers: int = _TYPICAL_LAYERS
    cache_bytes: int = 0
    """Bytes of the cache for each token of context, all of which are read for a further token."""

    @property
    def bytes_read(self) -> float:
        """Bytes of weights read for one token."""
        return sum(self.dense.values()) + self.expert_share * sum(self.experts.values())

    @property
    def main_type(self) -> str:
        """The type of most bytes; empty without weights."""
        together = Counter(self.dense) + Counter(self.experts)
        return max(together, key=together.__getitem__, default="")

    def to_dict(self) -> dict[str, Any]:
        """The work for the disk."""
        return {
            "dense": dict(self.dense),
            "experts": dict(self.experts),
            "expert_share": self.expert_share,
            "n_layers": self.n_layers,
            "cache_bytes": self.cache_bytes,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> TokenWork:
        """Undo ``to_dict``. Raises KeyError, TypeError, ValueError or AttributeError if it is something else."""
        dense, experts = ({str(k): int(n) for k, n in data[name].items()} for name in ("dense", "experts"))
        return TokenWork(dense, experts, float(data["expert_share"]), int(data["n_layers"]), int(data["cache_bytes"]))


def token_work(parts: Sequence[GgufHeader], layers: range | None = None) -> TokenWork:
    """The work of a model, from the headers of its files; with ``layers`` only of these, and of the output.

    MTP layers at the end are left out unless they are asked for.
    """
    model = Hyperparameters(parts[0])
    chosen = range(model.n_layers - model.n_mtp) if layers is None else layers
    tensors = {tensor.name: tensor for part in parts for tensor in part.tensors}
    dense, experts = Counter[str](), Counter[str]()
    for name, tensor in tensors.items():
        block = BLOCK.match(name)
        if name in _LOOKED_UP and not (name == _EMBEDDING and _OUTPUT not in tensors):
            continue
        if (block and int(block[1]) not in chosen) or tensor.type_id not in TENSOR_TYPES:
            continue
        (experts if _EXPERTS in name else dense)[TENSOR_TYPES[tensor.type_id][0]] += tensor.size_bytes
    shape = ContextShape(_CELLS)
    cached = sum(cache_bytes(model, layer, shape) for layer in chosen if layer < model.n_layers)
    return TokenWork(dense, experts, _expert_share(parts[0]), max(1, len(chosen)), cached // _CELLS)


def mtp_work(parts: Sequence[GgufHeader]) -> TokenWork:
    """The work of the MTP layers of a model, which use its output."""
    model = Hyperparameters(parts[0])
    return token_work(parts, range(model.n_layers - model.n_mtp, model.n_layers))


def work_of_size(
    size_bytes: int, file: str, *, active_share: float | None = None, cache_bytes_per_token: int = 0
) -> TokenWork:
    """The work of a model of which only the size is known, and the name of its file, which tells its type.

    ``active_share`` is the share of its weights that a mixture of experts reads for a token; None takes it from a name
    such as "30B-A3B", or else all.
    """
    named = [match.upper() for match in _NAMED_TYPE.findall(file)]
    kind = next((name for name in reversed(named) if name in _TENSOR_NAMES), _USUAL_TYPE)
    share = _named_share(file) if active_share is None else active_share
    if share >= 1:
        return TokenWork({kind: size_bytes}, cache_bytes=cache_bytes_per_token)
    # About half of what a token reads of a mixture is attention, output and the like, which all tokens share.
    dense = int(size_bytes * share / 2)
    rest = size_bytes - dense
    return TokenWork({kind: dense}, {kind: rest}, dense / rest, cache_bytes=cache_bytes_per_token)


def _named_share(file: str) -> float:
    match = _NAMED_SHARE.search(file)
    return min(1.0, float(match[2]) / float(match[1])) if match and float(match[1]) > 0 else 1.0


def _expert_share(header: GgufHeader) -> float:
    n, used = (header.integer(f"{header.architecture}.expert_{name}") or 0 for name in ("count", "used_count"))
    return min(1.0, used / n) if n > 0 and used > 0 else 1.0
