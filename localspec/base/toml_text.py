"""Text and names in TOML files."""

from __future__ import annotations

import re

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_string(text: str) -> str:
    """``text`` as a TOML basic string, in quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'


def toml_name(name: str) -> str:
    """A name before an equals sign or in a header, in quotes where it needs them."""
    return name if _BARE.fullmatch(name) else toml_string(name)
