"""Files that hold draft heads, which propose from their target's hidden states, instead of a model of their own.

They are recognised by llama.cpp's architecture and tensor names. A target with built-in heads counts as a model.
"""

from __future__ import annotations

from localspec.gguf import GgufHeader

_BY_ARCHITECTURE = {"eagle3": "an EAGLE-3 head", "dflash": "a DFlash head", "gemma4-assistant": "MTP heads"}


def draft_head_kind(header: GgufHeader) -> str | None:
    """The kind of draft heads in the file, in words: "an EAGLE-3 head", "MTP heads"; None for a model of its own."""
    named = _BY_ARCHITECTURE.get(header.architecture)
    if named:
        return named
    names = {tensor.name for tensor in header.tensors}
    has_heads = any(".nextn." in name for name in names)
    has_model = any(name.startswith("blk.0.") for name in names)
    # The first file of a split target may have only the last layers.
    return "MTP heads" if has_heads and not has_model and header.split_count == 1 else None
