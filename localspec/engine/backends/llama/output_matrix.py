"""The output matrix of a model as it lies in its GGUF file: a row for each token that is scored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localspec.engine.backends.llama.file_header import opened
from localspec.engine.backends.llama.ggml import LEAST_ALIGNMENT, ggml_functions
from localspec.engine.backends.llama.native import Native

OF_HEAD = (r"output\.weight",)
OF_MODEL = (*OF_HEAD, r"token_embd\.weight")
OF_MTP = (r"blk\.\d+\.nextn\.shared_head_head\.weight", *OF_MODEL)
"""The names that an output matrix may have; the first of them that a file has is it."""
_SCALE = "output.scale"
"""A tensor that scores are multiplied with."""
_TOKENS = "d2t"
"""The tokens of the rows."""


@dataclass(frozen=True, slots=True, eq=False)
class OutputMatrix:
    """The place of an output matrix in a file."""

    path: Path
    width: int
    """Numbers in a row."""
    offset: int
    """Bytes from the beginning of the file."""
    type_id: int
    row_bytes: int
    rows_n: int
    tokens: NDArray[np.int64] | None
    """Those that have a row, where a head scores a part of the vocabulary; None if the first do."""

    @staticmethod
    def find(native: Native, path: Path, names: Sequence[str] = OF_MODEL) -> OutputMatrix | None:
        """That of a file, under one of these names.

        None if the file has none or is a part, or if this build of llama.cpp cannot read it.
        """
        with opened(native, path) as file:
            tensors = {} if file is None or file.is_part else {tensor.name: tensor for tensor in file.tensors}
        found = next((tensors[name] for pattern in names for name in tensors if re.fullmatch(pattern, name)), None)
        # ggml would end the process over a tensor that begins anywhere.
        if found is None or found.offset % LEAST_ALIGNMENT or _SCALE in tensors:
            return None
        width, rows_n, *_ = found.shape
        part = tensors.get(_TOKENS)
        tokens = np.fromfile(path, np.int64, part.shape[0], offset=part.offset) if part else None
        ggml = ggml_functions(native)
        assert ggml is not None
        row_bytes = ggml.ggml_row_size(found.type_id, width)
        return OutputMatrix(path, width, found.offset, found.type_id, row_bytes, rows_n, tokens)
