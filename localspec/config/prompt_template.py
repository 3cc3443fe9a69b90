"""Templates of prompts: texts with fields in double braces, as in "Translate {{text}} into {{language|English}}"."""

from __future__ import annotations

import re
from collections.abc import Mapping

_FIELD = re.compile(r"\{\{\s*([^{}|\s][^{}|]*?)\s*(?:\|([^{}]*))?\}\}")


def fields_of(text: str) -> Mapping[str, str]:
    """The names of the fields in their order, each with its first default; empty for none."""
    found: dict[str, str] = {}
    for field in _FIELD.finditer(text):
        name, default = " ".join(field[1].split()), (field[2] or "").strip()
        found[name] = found.get(name) or default
    return found


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with the value of every field in its places; a value is never read as a template."""
    return _FIELD.sub(lambda field: values[" ".join(field[1].split())], text)
