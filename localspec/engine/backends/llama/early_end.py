"""Evaluations that end before their graph does, where nobody wants what is left of it.

llama.cpp asks a function before each operation whether it is to see the result, and then whether to go on. So drafts of
any architecture hand over their final hidden states, without the scores of a large vocabulary; and what a head only has
to remember costs its keys and values.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from localspec.base.errors import ModelFileError
from localspec.engine.backends.llama.ggml import ggml_functions
from localspec.engine.backends.llama.native import Native
from localspec.engine.hidden import Rows


class End(Enum):
    """The operation that an evaluation ends with."""

    ATTENTION = "attention"
    """The first layer's attention: its keys and values are in the cache by then."""
    STATES = "states"
    """The final hidden states, which are kept. In the graphs of MTP layers they are not found."""


_ATTENTION = (b"FLASH_ATTN_EXT", b"SOFT_MAX")
"""ggml's names of the operation: the fused one, and one of those that it stands for."""
_STATES = b"result_norm"
"""Their name in llama.cpp's graphs."""


class EarlyEnd:
    """Ends the evaluations of the contexts that have ``callback``."""

    def __init__(self, native: Native, ggml: Any) -> None:
        """``ggml`` as ``ggml_functions`` gives it."""
        self._ggml = ggml
        self._end: End | None = None
        self._states: list[Rows] = []
        self.callback = dict(native.c.llama_context_params._fields_)["cb_eval"](self._answer)
        """The C callback, to be kept as long as the contexts."""

    @staticmethod
    def of(native: Native) -> EarlyEnd | None:
        """None if this build keeps ggml's functions elsewhere."""
        ggml = ggml_functions(native)
        return EarlyEnd(native, ggml) if ggml else None

    def begin(self, end: End | None) -> None:
        """The next evaluations end with ``end``, or with None as their graphs do. States that were kept are dropped."""
        self._end = end
        self._states.clear()

    def states(self, width: int) -> Rows:
        """The final states of the last evaluation, which ended with them: shape (n, width), in the order of its tokens.

        A model gives those of the tokens whose scores are wanted, a head those of all. Raises ModelFileError if the
        graph had none of this width.
        """
        if not self._states or self._states[0].shape[1] != width:
            raise ModelFileError("llama.cpp does not hand over this model's final states.", "Choose another file.")
        return self._states[0] if len(self._states) == 1 else np.concatenate(self._states)

    def _answer(self, tensor: Any, asks: bool, _data: Any) -> bool:
        if asks:
            if self._end is End.ATTENTION:
                return self._ggml.ggml_op_desc(tensor) in _ATTENTION
            return self._end is End.STATES and self._ggml.ggml_get_name(tensor) == _STATES
        if self._end is End.STATES and (rows_n := self._ggml.ggml_nrows(tensor)):
            rows = np.empty((rows_n, self._ggml.ggml_nelements(tensor) // rows_n), np.float32)
            self._ggml.ggml_backend_tensor_get(tensor, rows.ctypes.data, 0, rows.nbytes)
            self._states.append(rows)
        return False
