"""Text in TOML files."""

from __future__ import annotations


def toml_string(text: str) -> str:
    """``text`` as a TOML basic string, in quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
