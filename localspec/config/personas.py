"""Personas: system prompts as text files in a folder of the configuration, chosen by the file's name."""

from __future__ import annotations

from pathlib import Path

from localspec.config.kinds import NONE
from localspec.config.text_folder import PERSONAS


def list_personas(config_folder: Path | None = None) -> tuple[str, ...]:
    """The names there are, in alphabetical order."""
    return PERSONAS.names(config_folder)


def no_personas(config_folder: Path | None = None) -> str:
    """A sentence for an empty folder, which says what a persona is."""
    return (
        "There are no personas yet. One is a system prompt in a text file, such as "
        f"{PERSONAS.path(config_folder) / 'teacher.md'}; /persona edit teacher writes it."
    )


def read_persona(name: str, config_folder: Path | None = None) -> str | None:
    """The system prompt of a persona; None for ``none``. Raises NotFoundError, InputError."""
    return None if name == NONE else PERSONAS.read(name, config_folder)


def check_persona(name: str, config_folder: Path | None = None) -> None:
    """Raise NotFoundError if there is no such persona."""
    if name != NONE:
        PERSONAS.find(name, config_folder)
