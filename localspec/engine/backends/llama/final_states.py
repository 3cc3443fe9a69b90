"""The final hidden states of a model, which it multiplies with its output matrix; evaluations can end with them.

llama.cpp asks a function before each operation of a graph whether it is to see the result, and then whether to go on.
So the scores of a large vocabulary are left out, and what they are made of is kept, of any architecture.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from localspec.base.errors import ModelFileError
from localspec.engine.backends.llama.ggml import ggml_functions
from localspec.engine.backends.llama.native import Native
from localspec.engine.hidden import Rows

_NAME = b"result_norm"
"""Their name in llama.cpp's graphs, but for those of MTP layers."""


class FinalStates:
    """The states of one evaluation after the other, of the contexts that have ``callback``."""

    def __init__(self, native: Native) -> None:
        self._ggml: Any = ggml_functions(native)
        self._rows: list[Rows] = []
        self.end_evaluations = False
        self.callback = dict(native.c.llama_context_params._fields_)["cb_eval"](self._answer)
        """The C callback, to be kept as long as the contexts."""

    def begin(self, *, end_evaluations: bool) -> None:
        """Forget what the last evaluation gave; the next ends with the states, or gives scores and no states."""
        self._rows.clear()
        self.end_evaluations = end_evaluations

    def rows(self, width: int) -> Rows:
        """The states of the last evaluation, which ended with them: shape (n, width), in the order of its tokens.

        A model gives those of the tokens whose scores are wanted, a head those of all. Raises ModelFileError if the
        graph had none of this width.
        """
        if not self._rows or self._rows[0].shape[1] != width:
            raise ModelFileError("llama.cpp does not hand over this model's final states.", "Choose another file.")
        return self._rows[0] if len(self._rows) == 1 else np.concatenate(self._rows)

    def _answer(self, tensor: Any, asks: bool, _data: Any) -> bool:
        if asks:
            return self.end_evaluations and self._ggml.ggml_get_name(tensor) == _NAME
        if rows_n := self._ggml.ggml_nrows(tensor):
            rows = np.empty((rows_n, self._ggml.ggml_nelements(tensor) // rows_n), np.float32)
            self._ggml.ggml_backend_tensor_get(tensor, rows.ctypes.data, 0, rows.nbytes)
            self._rows.append(rows)
        return False
