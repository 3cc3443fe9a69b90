"""What a GGUF file says about itself, with a typed accessor for each thing LocalSpec asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from localspec.gguf.metadata import Value, get
from localspec.gguf.tensors import FILE_TYPES, TensorInfo
from localspec.gguf.vocabulary import Vocabulary

_LINE = 200
"""Signs of a name or a licence that are shown."""


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a GGUF file says about itself."""

    source: str
    """The file's name, for people."""
    version: int
    metadata: Mapping[str, Value] = field(repr=False)
    tensors: tuple[TensorInfo, ...] = field(repr=False)
    data_offset: int
    """Where the tensor data begins."""
    size_bytes: int
    """Of the whole file, as it is."""
    vocabulary: Vocabulary

    def text(self, key: str) -> str | None:
        """The text under ``key``; None if there is none, or something else."""
        return get(self.metadata, key, str)

    def integer(self, key: str) -> int | None:
        """The whole number under ``key``; None if there is none, or something else."""
        return get(self.metadata, key, int)

    def line(self, key: str) -> str | None:
        """The text under ``key`` as it may be shown: one line, nothing that moves a cursor, not endlessly long."""
        text = self.text(key)
        if text is None:
            return None
        words = " ".join(text.split())
        return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in words[:_LINE])

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
    def context_length(self) -> int | None:
        """Tokens of context the model was trained for; None if it does not say, or names no number of tokens."""
        said = self.said_context_length
        return said if said is not None and said > 0 else None

    @property
    def said_context_length(self) -> int | None:
        """As ``context_length``, whatever the number."""
        return self.integer(f"{self.architecture}.context_length")

    @property
    def block_count(self) -> int | None:
        return self.integer(f"{self.architecture}.block_count")

    @property
    def file_type(self) -> str | None:
        """How most tensors are stored, as file names spell it, e.g. "Q4_K_M"."""
        number = self.integer("general.file_type")
        return None if number is None else FILE_TYPES.get(number, f"type {number}")

    @property
    def split_count(self) -> int:
        """How many files the model is spread over; this header then describes the tensors of one."""
        return self.integer("split.count") or 1

    @property
    def parameter_count(self) -> int:
        return sum(tensor.n_elements for tensor in self.tensors)

    @property
    def fingerprint(self) -> str:
        """The vocabulary's: two models with the same one speak the same tokens."""
        return self.vocabulary.fingerprint

    @property
    def expected_size_bytes(self) -> int:
        """How long the file must at least be to hold all its tensors."""
        ends = (self.data_offset + tensor.offset + tensor.size_bytes for tensor in self.tensors)
        return max(ends, default=0)
