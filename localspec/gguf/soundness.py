"""What makes a file useless whose header can be read: data that are missing, tokens that llama.cpp does not survive."""

from __future__ import annotations

from localspec.base.errors import ModelFileError
from localspec.gguf.header import GgufHeader
from localspec.gguf.vocabulary import as_llama_cpp, lacks_spaces, twins

UNFINISHED = "The download or copy did not finish; fetch the file again."


_LEAST_ALIGNMENT = 32
"""ggml's for tensors in memory, where a file is mapped."""


def check_sound(header: GgufHeader) -> None:
    """Raise ModelFileError unless the file is complete and its tokens can be told apart."""
    missing = header.expected_size_bytes - header.size_bytes
    if missing > 0:
        raise ModelFileError(
            f"{header.source} is cut short: {missing:,} of {header.expected_size_bytes:,} bytes are missing.",
            UNFINISHED,
        )
    _check_survivable(header)
    if (same := twins(header.vocabulary)) is not None:
        first, second = same
        text = as_llama_cpp(second, header.vocabulary.tokens[second])
        shown = repr(text if len(text) <= 40 else text[:39] + "…")
        raise ModelFileError(
            f"{header.source} cannot be loaded: its tokens {first:,} and {second:,} are both {shown}.",
            "llama.cpp would end the program over it; look for another file of the same model.",
        )


def _check_survivable(header: GgufHeader) -> None:
    """Raise ModelFileError for what llama.cpp does not refuse, but ends its process over."""
    if header.tensors and (why := _misplaced(header) or _unspoken(header) or _wrong_experts(header)):
        raise ModelFileError(
            f"{header.source} cannot be loaded: {why}.",
            "llama.cpp would end the program over it; look for another file of the same model.",
        )


def _misplaced(header: GgufHeader) -> str | None:
    if header.data_offset % _LEAST_ALIGNMENT == 0:
        return None
    return f"its data begins at byte {header.data_offset:,}, which is no multiple of {_LEAST_ALIGNMENT}"


def _unspoken(header: GgufHeader) -> str | None:
    vocabulary = header.vocabulary
    if not lacks_spaces(vocabulary):
        return None
    return f"its tokens are not those of its tokenizer, {vocabulary.model!r}: none has a space or a byte"


def _wrong_experts(header: GgufHeader) -> str | None:
    n = header.integer(f"{header.architecture}.expert_count") or 0
    used = header.metadata.get(f"{header.architecture}.expert_used_count", 0)
    if not isinstance(used, int) or (used <= n and (used > 0 or n == 0)):
        return None
    return f"it uses {used:,} of {n:,} experts"
