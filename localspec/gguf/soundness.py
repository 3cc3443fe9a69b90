"""What makes a file useless whose header can be read: data that are missing, tokens that llama.cpp does not survive."""

from __future__ import annotations

from localspec.errors import ModelFileError
from localspec.gguf.header import GgufHeader
from localspec.gguf.vocabulary import as_llama_cpp, twins

UNFINISHED = "The download or copy did not finish; fetch the file again."


def check_sound(header: GgufHeader) -> None:
    """Raise ModelFileError unless the file is complete and its tokens can be told apart."""
    missing = header.expected_size_bytes - header.size_bytes
    if missing > 0:
        raise ModelFileError(
            f"{header.source} is cut short: {missing:,} of {header.expected_size_bytes:,} bytes are missing.",
            UNFINISHED,
        )
    if (same := twins(header.vocabulary)) is not None:
        first, second = same
        text = as_llama_cpp(second, header.vocabulary.tokens[second])
        shown = repr(text if len(text) <= 40 else text[:39] + "…")
        raise ModelFileError(
            f"{header.source} cannot be loaded: its tokens {first:,} and {second:,} are both {shown}.",
            "llama.cpp would end the program over it; look for another file of the same model.",
        )
