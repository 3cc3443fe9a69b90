"""Hidden states out of a llama.cpp context: the inputs of layers, and the final states.

llama.cpp exports the functions for it without declaring them in its C header, under names that its compiler made, so
they are looked up when they are needed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

from localspec.base.errors import DrafterUnavailableError
from localspec.base.hidden_architectures import FINAL_ARCHITECTURES, LAYER_ARCHITECTURES, OUTPUT_ARCHITECTURES
from localspec.engine.backends.llama.load import LoadedModel
from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.native_views import NativeViews
from localspec.engine.hidden import FINAL, HiddenRows, Rows, RowWindow
from localspec.engine.model import common_prefix

_POINTER, _FLOATS = ctypes.c_void_p, ctypes.POINTER(ctypes.c_float)
_FUNCTIONS: dict[str, tuple[str, Any, list[Any]]] = {
    # (context, layer, on): hand over the input of a layer
    "set_layer": (
        "_Z30llama_set_embeddings_layer_inpP13llama_contextjb",
        None,
        [_POINTER, ctypes.c_uint32, ctypes.c_bool],
    ),
    # (context, layer): the rows of the last evaluation, one a token; it waits for them
    "get_layer": ("_Z30llama_get_embeddings_layer_inpP13llama_contextj", _FLOATS, [_POINTER, ctypes.c_uint32]),
    # (context, on, masked): hand over the final states; masked, of tokens that are scored alone
    "set_final": (
        "_Z26llama_set_embeddings_nextnP13llama_contextbb",
        None,
        [_POINTER, ctypes.c_bool, ctypes.c_bool],
    ),
    # (context): the rows of the last evaluation
    "get_final": ("_Z26llama_get_embeddings_nextnP13llama_context", _FLOATS, [_POINTER]),
    # (context, n): evaluate the n-th MTP layer
    "set_mtp_layer": ("_Z28llama_set_nextn_layer_offsetP13llama_contexti", None, [_POINTER, ctypes.c_int32]),
    # (context): the one whose weights or cache it uses, if any
    "other_context": ("_Z19llama_get_ctx_otherP13llama_context", _POINTER, [_POINTER]),
    # (model): the layers of its target that a head reads
    "target_layers": (
        "_Z28llama_model_target_layer_idsPK11llama_model",
        ctypes.POINTER(ctypes.c_int32),
        [_POINTER],
    ),
    "target_layers_n": ("_Z30llama_model_target_layer_ids_nPK11llama_model", ctypes.c_uint32, [_POINTER]),
}
"""llama.cpp's functions for hidden states: the name that compilers export each by, its result and its arguments."""


@cache
def hidden_functions() -> SimpleNamespace:
    """The functions, looked up once. Raises DrafterUnavailableError if this build of llama.cpp lacks one."""
    library, found = native().c._lib, SimpleNamespace()
    for name, (symbol, result, arguments) in _FUNCTIONS.items():
        function = getattr(library, symbol, None)
        if function is None:
            raise DrafterUnavailableError(
                "This build of llama.cpp does not hand over hidden states, which the head of a target reads.",
                "Install the version of llama-cpp-python that LocalSpec names; replies go on without the head.",
            )
        function.restype, function.argtypes = result, arguments
        setattr(found, name, function)
    return found


class HiddenKeeper:
    """Copies what was asked for of a context's hidden states after each evaluation, once for all readers."""

    def __init__(self, loaded: LoadedModel, held: Callable[[], list[int]], batch_n: int) -> None:
        """``held`` tells the tokens that the context holds; ``batch_n`` is the most that it evaluates at once."""
        self._functions = hidden_functions()
        self._context = loaded.context
        self._held = held
        self._batch_n = batch_n
        c = loaded.native.c
        self._architecture = loaded.metadata("general.architecture")
        self._layers_n = int(c.llama_model_n_layer(loaded.model))
        self._widths = int(c.llama_model_n_embd(loaded.model)), int(c.llama_model_n_embd_out(loaded.model))
        self._at: dict[int, int] = {}
        """The column of a row that each layer's part begins at."""
        self._asked: set[tuple[Any, int]] = set()
        """Contexts and the layers that they were asked for: asking anew makes llama.cpp prepare its buffers anew."""
        self._window = RowWindow(0, batch_n)
        self._views = NativeViews()

    def keep(self, layers: Sequence[int]) -> LayerStates:
        """As ``HiddenModel.keep_hidden``."""
        for layer in layers:
            self._check(layer)
        width = self._window.width
        for layer in dict.fromkeys(layers):
            if layer not in self._at:
                self._at[layer] = width
                width += self._width(layer)
                self._ask(layer)
        if width > self._window.width:
            self._window = RowWindow(width, self._batch_n)
        return LayerStates(self, [slice(at := self._at[layer], at + self._width(layer)) for layer in layers])

    def move(self, context: Any) -> None:
        """Read from another context from now on."""
        self._context = context
        for layer in self._at:
            self._ask(layer)

    def take(self, position: int, n: int, place: int = 0) -> None:
        """Copy the rows of ``n`` tokens from ``position`` on, the first of them at this place of the last batch."""
        room = self._window.put(position, n)
        for layer, at in self._at.items():
            width = self._width(layer)
            read = self._functions
            first = read.get_final(self._context) if layer == FINAL else read.get_layer(self._context, layer)
            room[:, at : at + width] = self._views.of(first, place + n, width)[place:]

    def clear(self) -> None:
        """Hold no rows: the context holds tokens that were not evaluated here."""
        self._window.clear()

    def take_over(self, other: HiddenKeeper | None, end: int) -> None:
        """Hold no rows but those that ``other``, of another sequence, holds of the positions before ``end``."""
        self._window.clear()
        if other and other._at == self._at:
            found = other._window.rows(0, end)
            self._window.put(found.start, len(found.rows))[:] = found.rows

    def rows(self, context: Sequence[int], start: int) -> HiddenRows:
        """The rows of ``context``, all layers side by side."""
        known_n = common_prefix(self._held(), context)
        return self._window.rows(start, known_n)

    def _width(self, layer: int) -> int:
        return self._widths[layer == FINAL]

    def _ask(self, layer: int) -> None:
        if (self._context, layer) in self._asked:
            return
        self._asked.add((self._context, layer))
        if layer == FINAL:
            self._functions.set_final(self._context, True, False)
        else:
            self._functions.set_layer(self._context, layer, True)

    def _check(self, layer: int) -> None:
        """Raise DrafterUnavailableError for a layer that llama.cpp would end the process over."""
        if layer == FINAL:
            given = self._architecture in FINAL_ARCHITECTURES
        elif layer == self._layers_n:
            given = self._architecture in OUTPUT_ARCHITECTURES
        else:
            given = self._architecture in LAYER_ARCHITECTURES and 0 <= layer < self._layers_n
        if not given:
            which = "final states" if layer == FINAL else f"input of layer {layer}"
            raise DrafterUnavailableError(
                f"llama.cpp does not hand over the {which} of this target ({self._architecture}).",
                "Choose a head that was made for it, or go on without one.",
            )


class LayerStates:
    """Some of the hidden states that a ``HiddenKeeper`` keeps."""

    def __init__(self, keeper: HiddenKeeper, columns: Sequence[slice]) -> None:
        self._keeper = keeper
        side_by_side = all(left.stop == right.start for left, right in pairwise(columns))
        # Then rows are looked at where they are kept: thousands of them are megabytes, and are asked for in each round.
        self._columns = [slice(columns[0].start, columns[-1].stop)] if side_by_side else columns
        self.width = sum(each.stop - each.start for each in columns)

    def rows(self, context: Sequence[int], start: int = 0) -> HiddenRows:
        found = self._keeper.rows(context, start)
        parts: list[Rows] = [found.rows[:, columns] for columns in self._columns]
        return HiddenRows(found.start, parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1))
