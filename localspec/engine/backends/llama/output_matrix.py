"""The output matrix of a model as it lies in its GGUF file: a row for each token."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path

from localspec.engine.backends.llama.file_header import opened
from localspec.engine.backends.llama.ggml import I64, LEAST_ALIGNMENT, ggml_functions
from localspec.engine.backends.llama.native import Native
from localspec.engine.backends.llama.second_part import PartTensor, SecondPart

_OF_MTP = r"blk\.\d+\.nextn\.shared_head_head\.weight"
_OF_MODEL = (r"output\.weight", r"token_embd\.weight")
"""The names that an output matrix may have; the first of them that a file has is it."""
_SCALE = "output.scale"
"""A tensor that scores are multiplied with."""


@dataclass(frozen=True, slots=True)
class OutputMatrix:
    """The place of an output matrix in a file: a row for each token."""

    path: Path
    width: int
    """Numbers in a row."""
    offset: int
    """Bytes from the beginning of the file."""
    type_id: int
    row_bytes: int
    rows_n: int

    @staticmethod
    def find(native: Native, path: Path, width: int, *, mtp: bool = False) -> OutputMatrix | None:
        """That of the model or, with ``mtp``, of its MTP layer, which may have its own.

        None if the file has none of this width or is a part, or if this build of llama.cpp cannot read it.
        """
        with opened(native, path) as file:
            tensors = [] if file is None or file.is_part else file.tensors
        if any(tensor.name == _SCALE for tensor in tensors):
            return None
        patterns = (_OF_MTP, *_OF_MODEL) if mtp else _OF_MODEL
        found = next((each for pattern in patterns for each in tensors if re.fullmatch(pattern, each.name)), None)
        # ggml would end the process over another width, and over a tensor that begins anywhere.
        if found is None or found.shape[0] != width or found.offset % LEAST_ALIGNMENT:
            return None
        ggml = ggml_functions(native)
        assert ggml is not None
        row_bytes = ggml.ggml_row_size(found.type_id, width)
        return OutputMatrix(path, width, found.offset, found.type_id, row_bytes, found.shape[1])

    def first_row(self) -> SecondPart:
        """The second part of a head whose output is this matrix's first row alone."""
        with self.path.open("rb") as file:
            file.seek(self.offset)
            row = file.read(self.row_bytes)
        output = PartTensor("output.weight", (self.width, 1), self.type_id, self.row_bytes, row)
        token = PartTensor("d2t", (1,), I64, 8, struct.pack("<q", 0))
        return SecondPart((output, token))
