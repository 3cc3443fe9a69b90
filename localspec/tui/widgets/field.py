"""A field in which one writes what is not a message: a filter, a title, a value."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input


class Field(Input, inherit_bindings=False):
    """Leaves Enter to the actions of the place it stands in, so that the key map decides on it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        each for each in Input.BINDINGS if not isinstance(each, Binding) or each.key != "enter"
    ]
