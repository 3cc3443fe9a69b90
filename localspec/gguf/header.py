"""The header of a GGUF file, with a typed accessor for each field that LocalSpec uses."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field

from localspec.gguf.metadata import Value, get
from localspec.gguf.tensors import FILE_TYPES, TensorInfo
from localspec.gguf.vocabulary import Vocabulary

_LINE_CHARS = 200
"""The longest name or licence that is shown."""


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The metadata, the list of tensors and the vocabulary of a GGUF file."""

    source: str
    """The name of the file, for messages."""
    version: int
    metadata: Mapping[str, Value] = field(repr=False)
    tensors: tuple[TensorInfo, ...] = field(repr=False)
    data_offset: int
    """The position in the file where the tensor data begins."""
    size_bytes: int
    """The actual size of the file."""
    vocabulary: Vocabulary
    draft_tokens: array[int] | None = field(default=None, repr=False)
    """The target's token for each output of a draft head; None if it has one for every token, or was not read."""

    def text(self, key: str) -> str | None:
        """The text under ``key``; None if it is missing or of another type."""
        return get(self.metadata, key, str)

    def integer(self, key: str) -> int | None:
        """The integer under ``key``; None if it is missing or of another type."""
        return get(self.metadata, key, int)

    def line(self, key: str) -> str | None:
        """The text under ``key``, safe to show on one line; None as for ``text``."""
        text = self.text(key)
        if text is None:
            return None
        words = " ".join(text.split())
        shown = words[:_LINE_CHARS]
        return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in shown)

    @property
    def architecture(self) -> str:
        return self.text("general.architecture") or ""

    @property
    def name(self) -> str | None:
        return self.line("general.name")

    @property
    def licence(self) -> str | None:
        return self.line("general.license")

    @property
    def chat_template(self) -> str | None:
        return self.text("tokenizer.chat_template")

    @property
    def tool_template(self) -> str | None:
        """The template for conversations with tools, if the file has one more for these."""
        return self.text("tokenizer.chat_template.tool_use")

    @property
    def context_length(self) -> int | None:
        """Tokens of context the model was trained for; None if the file has no positive number."""
        length = self.raw_context_length
        return length if length is not None and length > 0 else None

    @property
    def raw_context_length(self) -> int | None:
        """The context length as the file has it, which may be 0 or negative."""
        return self.integer(f"{self.architecture}.context_length")

    @property
    def block_count(self) -> int | None:
        return self.integer(f"{self.architecture}.block_count")

    @property
    def file_type(self) -> str | None:
        """The type of most tensors, as file names spell it ("Q4_K_M")."""
        number = self.integer("general.file_type")
        return None if number is None else FILE_TYPES.get(number, f"type {number}")

    @property
    def split_count(self) -> int:
        """The number of files the model is split into; the header lists the tensors of one."""
        return self.integer("split.count") or 1

    @property
    def fingerprint(self) -> str:
        """The digest of the vocabulary: equal for models with the same tokens."""
        return self.vocabulary.fingerprint

    @property
    def expected_size_bytes(self) -> int:
        """The smallest size of a file that holds all its tensors."""
        ends = (self.data_offset + tensor.offset + tensor.size_bytes for tensor in self.tensors)
        return max(ends, default=0)
