"""Checks of a readable header for defects that make the file useless: missing data, values that abort llama.cpp."""

from __future__ import annotations

from localspec.base.errors import ModelFileError
from localspec.base.visible import shortened
from localspec.gguf.draft_heads import announced_mtp_layers
from localspec.gguf.header import GgufHeader
from localspec.gguf.vocabulary import as_llama_cpp, equal_tokens, lacks_spaces

UNFINISHED = "The download or copy did not finish; download the file again."
_ABORTS = "llama.cpp would abort the program over it; look for another file of the same model."
_MOST_LAYERS = 512
_LEAST_ALIGNMENT = 32
"""The alignment that ggml needs for tensors in a mapped file, in bytes."""


def check_sound(header: GgufHeader) -> None:
    """Raise ModelFileError if data is missing, tokens are equal, or llama.cpp would abort over the file."""
    missing = header.expected_size_bytes - header.size_bytes
    if missing > 0:
        raise ModelFileError(
            f"{header.source} is truncated: {missing:,} of {header.expected_size_bytes:,} bytes are missing.",
            UNFINISHED,
        )
    if header.tensors and (why := next(filter(None, (rule(header) for rule in _RULES)), None)):
        raise ModelFileError(f"{header.source} cannot be loaded: {why}.", _ABORTS)
    if (same := equal_tokens(header.vocabulary)) is not None:
        first, second = same
        text = as_llama_cpp(second, header.vocabulary.tokens[second])
        shown = repr(shortened(text, 40))
        raise ModelFileError(
            f"{header.source} cannot be loaded: its tokens {first:,} and {second:,} are both {shown}.",
            _ABORTS,
        )


def _misaligned(header: GgufHeader) -> str | None:
    if header.data_offset % _LEAST_ALIGNMENT == 0:
        return None
    return f"its data begins at byte {header.data_offset:,}, which is not a multiple of {_LEAST_ALIGNMENT}"


def _wrong_tokens(header: GgufHeader) -> str | None:
    vocabulary = header.vocabulary
    if not lacks_spaces(vocabulary):
        return None
    return f"its tokens are not those of its tokenizer, {vocabulary.model!r}: none has a space or a byte"


def _wrong_layers(header: GgufHeader) -> str | None:
    n, mtp = header.block_count, announced_mtp_layers(header)
    if n is None:
        return None
    if not 0 < n <= _MOST_LAYERS:
        return f"it has {n:,} layers, and 1 to {_MOST_LAYERS} are possible"
    return f"it announces {mtp:,} MTP layers among {n:,}" if mtp > n else None


def _wrong_experts(header: GgufHeader) -> str | None:
    n = header.integer(f"{header.architecture}.expert_count") or 0
    used = header.metadata.get(f"{header.architecture}.expert_used_count", 0)
    if not isinstance(used, int) or (used <= n and (used > 0 or n == 0)):
        return None
    return f"it uses {used:,} of {n:,} experts"


_RULES = (_misaligned, _wrong_tokens, _wrong_layers, _wrong_experts)
"""Reasons to refuse values over which llama.cpp aborts instead of refusing the file."""
