"""Personas: system prompts as text files in a folder of the configuration, chosen by the file's name."""

from __future__ import annotations

from pathlib import Path

from localspec.base.errors import InputError, NotFoundError
from localspec.base.paths import user_paths
from localspec.config.kinds import NONE
from localspec.config.texts import read_setting

FOLDER = "personas"
SUFFIXES = (".md", ".txt")


def list_personas(config_folder: Path | None = None) -> tuple[str, ...]:
    """The names there are, in alphabetical order; of two files of one name the first suffix counts."""
    folder = (config_folder or user_paths().config) / FOLDER
    try:
        found = {path.stem for path in folder.iterdir() if path.suffix in SUFFIXES and not path.name.startswith(".")}
    except OSError:
        return ()
    return tuple(sorted(found - {NONE}, key=str.casefold))


def no_personas(config_folder: Path | None = None) -> str:
    """A sentence for an empty folder, which says what a persona is."""
    folder = (config_folder or user_paths().config) / FOLDER
    return f"There are no personas yet. One is a system prompt in a text file, such as {folder / 'teacher.md'}."


def read_persona(name: str, config_folder: Path | None = None) -> str | None:
    """The system prompt of a persona; None for ``none``. Raises NotFoundError, InputError."""
    if name == NONE:
        return None
    path = _file(name, config_folder)
    text = read_setting(path).strip()
    if not text:
        raise InputError(f"The persona {name!r} is empty.", f"Write its system prompt into {path}.")
    return text


def check_persona(name: str, config_folder: Path | None = None) -> None:
    """Raise NotFoundError if there is no such persona."""
    if name != NONE:
        _file(name, config_folder)


def _file(name: str, config_folder: Path | None) -> Path:
    from difflib import get_close_matches

    config_folder = config_folder or user_paths().config
    there = list_personas(config_folder)
    if name in there:
        paths = (config_folder / FOLDER / f"{name}{suffix}" for suffix in SUFFIXES)
        return next(path for path in paths if path.exists())
    if not there:
        hint = f"Put its system prompt into {config_folder / FOLDER / name}.md."
    elif close := get_close_matches(name, there, n=1):
        hint = f"Did you mean {close[0]}?"
    else:
        hint = f"There are: {', '.join(there)}."
    raise NotFoundError(f"There is no persona {name!r}.", hint)
