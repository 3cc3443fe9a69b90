"""The user's own files, as tests put them there."""

from __future__ import annotations

from pathlib import Path

from localspec.config import config_file
from localspec.config.text_folder import PERSONAS


def configure(text: str | bytes) -> Path:
    """Write the file of settings."""
    config_file().parent.mkdir(parents=True, exist_ok=True)
    config_file().write_bytes(text.encode() if isinstance(text, str) else text)
    return config_file()


def add_persona(name: str, text: str | bytes) -> Path:
    """Write a persona; ``name`` is that of its file."""
    folder = config_file().parent / PERSONAS.name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
