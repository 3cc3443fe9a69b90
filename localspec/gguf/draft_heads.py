"""Draft heads, which propose tokens from a target's hidden states, recognised in a file by its header alone.

A file is recognised by llama.cpp's architecture and tensor names. The layers of a target for multi-token prediction
(MTP) are heads too, which lie in the target's own file.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from localspec.gguf.header import GgufHeader

DRAFT, MTP, EAGLE3, DFLASH = "draft", "mtp", "eagle3", "dflash"
"""The kinds of drafters that a file can hold; the first is a model of its own."""
DRAFTERS = {DRAFT: "a draft model", MTP: "MTP heads", EAGLE3: "an EAGLE-3 head", DFLASH: "a DFlash head"}
"""The same in words."""

DRAFT_TOKENS = "d2t"
"""The tensor with the target's token for each output of a head that proposes a part of the vocabulary."""

BY_ARCHITECTURE = {"eagle3": EAGLE3, "dflash": DFLASH, "gemma4-assistant": MTP}
"""The kinds of heads by the architecture of a file that has nothing else."""
_DSPARK_TENSOR = "markov_w1.weight"
_CONFIDENCE_TENSOR = "conf_proj.weight"
_MTP_TENSORS = ("eh_proj", "enorm", "hnorm")
"""The tensors, of those below ``blk.N.nextn.``, that llama.cpp requires of each MTP layer."""


def drafter_kind(header: GgufHeader) -> str:
    """The kind of drafter that a file is when it is given as the draft: ``DRAFT`` for a model of its own."""
    kind = BY_ARCHITECTURE.get(header.architecture)
    if kind is not None:
        return kind
    names = [tensor.name for tensor in header.tensors]
    # The first file of a split target may have only the last layers.
    lacks_model = header.split_count == 1 and not any(name.startswith("blk.0.") for name in names)
    return MTP if lacks_model and any(".nextn." in name for name in names) else DRAFT


def drafter_in_words(header: GgufHeader) -> str:
    """The kind of drafter with its article: "an EAGLE-3 head", "a DSpark head", "a draft model"."""
    return "a DSpark head" if is_dspark(header) else DRAFTERS[drafter_kind(header)]


def is_dspark(header: GgufHeader) -> bool:
    """True for a DFlash head with the Markov head of DSpark, which drafts each token knowing the one before."""
    return drafter_kind(header) == DFLASH and any(tensor.name == _DSPARK_TENSOR for tensor in header.tensors)


def has_confidence(header: GgufHeader) -> bool:
    """True for a DSpark head that tells how likely its proposals are accepted."""
    return is_dspark(header) and any(tensor.name == _CONFIDENCE_TENSOR for tensor in header.tensors)


def mtp_layers(parts: Sequence[GgufHeader]) -> int:
    """The number of MTP layers in a model; 0 if it has none, or announces more than it has.

    ``parts`` are the headers of all its files; some converters keep the announcement and drop the layers.
    """
    header = parts[0]
    announced, blocks = announced_mtp_layers(header), header.block_count or 0
    if header.architecture in BY_ARCHITECTURE or not 0 < announced < blocks:
        return 0
    names = {tensor.name for part in parts for tensor in part.tensors}
    wanted = (f"blk.{n}.nextn.{name}.weight" for n in range(blocks - announced, blocks) for name in _MTP_TENSORS)
    return announced if all(name in names for name in wanted) else 0


def read_layers(head: GgufHeader) -> int:
    """The number of layers of its target whose hidden states a draft head reads; 0 for a model of its own."""
    if drafter_kind(head) == MTP:
        return 1
    layers = head.metadata.get(f"{head.architecture}.target_layers")
    return len(layers) if isinstance(layers, array) else 0


def target_sha256(head: GgufHeader) -> str | None:
    """The SHA-256 of the target's file that the head was made for, under a key of LocalSpec's own; None if not named.

    Without it a head may serve every quantisation of its target.
    """
    return head.text("localspec.target_sha256")


def announced_mtp_layers(header: GgufHeader) -> int:
    """The number of MTP layers in the metadata of a model, whose block count includes them; 0 without."""
    return max(0, header.integer(f"{header.architecture}.nextn_predict_layers") or 0)
