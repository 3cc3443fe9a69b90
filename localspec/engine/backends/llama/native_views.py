"""Views of numbers that llama.cpp keeps."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST = 256


class NativeViews:
    """Views by type, address and shape: numbers lie at the same few places each time, and making a view takes long."""

    def __init__(self) -> None:
        self._views: dict[tuple[type, int, int, int], NDArray[Any]] = {}

    def of(self, first: Any, rows_n: int, width: int) -> NDArray[Any]:
        """The numbers that ``first`` points to, of its type, shape (rows_n, width); valid as long as they are."""
        place = type(first), ctypes.addressof(first.contents), rows_n, width
        view = self._views.get(place)
        if view is None:
            if len(self._views) >= _MOST:
                self._views.clear()
            view = self._views[place] = np.ctypeslib.as_array(first, (rows_n, width))
        return view
